"""W08: Python files that an ignore rule keeps out are named with the rule."""

from __future__ import annotations

from pathlib import Path

from tests.parts.repositories import Repository
from tests.worktree.conftest import Seen
from tests.worktree.vocabulary import changed


def named(see: Seen) -> list[str]:
    """Each ignored file as "path by rule"."""
    return [f"{ignored.path} by {ignored.rule}" for ignored in see().ignored]


def test_ignored_modules_are_named_with_their_rule(checkout: Repository, see: Seen) -> None:
    checkout.write(".gitignore", "log*\n!p/login.py\nbuild/\n")
    checkout.commit()
    (checkout.path / ".git/info").mkdir(exist_ok=True)
    (checkout.path / ".git/info/exclude").write_text("# mine\nscratch.py\n")
    for name in ("logging_utils", "login", "scratch", "log s\n"):
        checkout.write(f"p/{name}.py", "")
    checkout.write("p/log/inner.py", "")
    checkout.write("p/log/inner.txt", "")
    checkout.write("build/lib/p/a.py", "")
    checkout.write("only/logs.py", "")
    assert named(see) == [
        "build/lib/p/a.py by .gitignore:3:build/",
        "only/logs.py by .gitignore:1:log*",
        "p/log s\n.py by .gitignore:1:log*",
        "p/log/inner.py by .gitignore:1:log*",
        "p/logging_utils.py by .gitignore:1:log*",
        "p/scratch.py by .git/info/exclude:2:scratch.py",
    ]
    assert changed(see()) == ["added p/login.py"]


def test_a_tracked_file_is_compared_though_a_rule_matches(checkout: Repository, see: Seen) -> None:
    checkout.write(".gitignore", "*.py\n")
    checkout.commit()
    checkout.write("p/a.py", "a = 2\n")
    assert (changed(see()), named(see)) == (["modified p/a.py"], [])


def test_ignore_rules_of_the_user_change_nothing(checkout: Repository, see: Seen, isolation: Path) -> None:
    """They are told; the repository's own configuration cannot say that another file holds them."""
    (isolation / "other").write_text("new*\n")
    checkout.git("config", "core.excludesFile", str(isolation / "other"))
    (isolation / "ignore").write_text("*.py\n")
    (isolation / ".gitconfig").write_text(f"[core]\n\texcludesFile = {isolation / 'ignore'}\n")
    (isolation / ".config/git").mkdir(parents=True)
    (isolation / ".config/git/ignore").write_text("*.py\n")
    checkout.write("p/new.py", "")
    assert changed(see()) == ["added p/new.py"]
    [ignored] = see().ignored
    assert (ignored.by_user, ignored.rule) == (True, f"{isolation / 'ignore'}:1:*.py")


def test_environments_and_other_repositories_are_not_walked(checkout: Repository, see: Seen) -> None:
    checkout.write(".gitignore", "venv/\nnode_modules/\n__pycache__/\nclone/\nplain/\n")
    checkout.commit()
    checkout.write("venv/pyvenv.cfg", "")
    for directory in ("venv/lib", "node_modules", "p/__pycache__", "clone", "plain/node_modules", "plain"):
        checkout.write(f"{directory}/x.py", "")
    Repository(checkout.path / "clone")
    assert named(see) == ["plain/x.py by .gitignore:5:plain/"]


def test_no_more_than_two_hundred_are_named(checkout: Repository, see: Seen) -> None:
    checkout.write(".gitignore", "build/\n")
    for number in range(250):
        checkout.write(f"build/m{number}.py", "")
    assert len(see().ignored) == 200
