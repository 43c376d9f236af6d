"""What git does not show: flagged, ignored, sparse, intended and mode-only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cases.seen import Case
from tests.e2e.scenario import LocalScenario, codes


def planned(local: LocalScenario) -> tuple[Any, list[str]]:
    """The answer of a status without problems, and its operations."""
    answer = local.ask("status")
    assert answer["problems"] == []
    return answer, [f"{item['action']} {item['source']}" for item in answer["operations"]]


def is_clean(local: LocalScenario) -> bool:
    """What git itself says."""
    git = local.project.git
    return not git("status", "--porcelain") and not git("diff", "HEAD", "--name-only")


@pytest.mark.case("W01")
@pytest.mark.parametrize("flag", ["--skip-worktree", "--assume-unchanged"])
def test_a_flagged_file(local: LocalScenario, case: Case, flag: str) -> None:
    project = local.project
    project.git("update-index", flag, "sample_pkg/engine.py")
    answer, operations = planned(local)
    assert operations == []
    case.control(answer, "a flag and no edit: nothing to do, the flag is told")
    local.edit_generation()
    assert is_clean(local)
    answer = case.trap(local.applied(), "git status and git diff show nothing")
    [line] = answer["details"]["hidden"]
    assert line == "sample_pkg/engine.py: index flag set, compared by bytes"
    assert "sample_pkg/engine.py: index flag set" in local("status").stdout
    assert local.answer() == "generation 2: 1.0"


@pytest.mark.case("W01")
def test_flagged_files_that_git_does_not_look_at(local: LocalScenario, case: Case) -> None:
    """What a flag hides is refused like anything else, and so is a removal."""
    project = local.project
    kernel = project.path / "csrc/kernel.c"
    kernel.write_text("int kernel(int heads) { return heads; }\n")
    project.git("update-index", "--assume-unchanged", "csrc/kernel.c", "sample_pkg/models/tiny.py")
    assert is_clean(local)
    answer = case.trap(local.refused(), "a flagged native source was edited")
    assert codes(answer) == ["native-change"]
    project.git("update-index", "--no-assume-unchanged", "csrc/kernel.c")
    project.git("checkout", "--", "csrc")
    (project.path / "sample_pkg/models/tiny.py").unlink()
    assert is_clean(local)
    assert planned(local)[1] == ["remove sample_pkg/models/tiny.py"]
    case.control(local.applied(), "the source put back, a flagged module removed")


@pytest.mark.case("W08")
@pytest.mark.parametrize(
    ("place", "rule"),
    [
        (".gitignore", "log*"),
        (".gitignore", "/sample_pkg/logs/"),
        ("sample_pkg/.gitignore", "*.py"),
        (".git/info/exclude", "logs"),
    ],
)
def test_an_ignored_module(local: LocalScenario, case: Case, place: str, rule: str) -> None:
    project = local.project
    local.edit_generation()
    case.control(local.applied(), "no rule, no module")
    for name in ("sample_pkg/logging_utils.py", "sample_pkg/logs/__init__.py"):
        project.write(name, "LEVEL = 1\n")
    path = project.path / place
    path.parent.mkdir(exist_ok=True)
    path.write_text((path.read_text() if path.exists() else "") + rule + "\n")
    hidden = [
        name for name in ("sample_pkg/logging_utils.py", "sample_pkg/logs/__init__.py")
        if not project.git("ls-files", "--others", "--exclude-standard", name)
    ]  # fmt: skip
    assert hidden
    answer = local.push()
    case.trap(local.ask("status"), "file and rule are told")
    assert answer["exit_code"] == 0
    assert len(answer["details"]["ignored"]) == len(hidden)
    for name, line in zip(hidden, answer["details"]["ignored"], strict=True):
        assert line.startswith(f"{name}: not synced, ignored by {place}:")
        assert line.endswith(f":{rule}")
        assert line in local("status").stdout
        assert name not in local.files()


@pytest.mark.case("W13")
@pytest.mark.parametrize(
    "command",
    [
        ["set", "--cone", "sample_pkg/models"],
        ["set", "--cone", "--sparse-index", "docs"],
        ["set", "--no-cone", "/*.toml", "/sample_pkg/models/*"],
    ],
)
def test_a_sparse_checkout(local: LocalScenario, case: Case, command: list[str]) -> None:
    project = local.project
    project.git("sparse-checkout", *command)
    absent = [
        name for name in ("engine.py", "layers/norm.py") if not (project.path / "sample_pkg" / name).exists()
    ]
    assert "layers/norm.py" in absent
    answer, operations = planned(local)
    assert operations == []
    case.trap(answer, "files are missing, and the plan is empty")
    assert f"sample_pkg/{absent[0]}: not checked out, left as installed" in answer["details"]["hidden"]
    assert local.push()["outcome"] == "unchanged"

    tiny = project.write("sample_pkg/models/tiny.py", "LAYERS = []\n")
    assert planned(local)[1] == ["replace sample_pkg/models/tiny.py"]
    local.applied()
    assert local.answer() == "generation 1: 1.0"
    local.ask("revert")
    tiny.unlink()
    project.git("sparse-checkout", "disable")
    project.git("checkout", "--", ".")
    (project.path / "sample_pkg/models/tiny.py").unlink()
    assert planned(local)[1] == ["remove sample_pkg/models/tiny.py"]
    case.control(local.applied(), "checked out whole, a file that is missing is removed")


@pytest.mark.case("W14")
def test_added_with_intent_to_add(local: LocalScenario, case: Case) -> None:
    project = local.project
    names = ["sample_pkg/fresh/__init__.py", "sample_pkg/ita.py"]
    for name in names:
        project.write(name, "VALUE = 1\n")
        project.git("add", "--intent-to-add", name)
    assert project.git("diff", "--cached", "--name-only") == ""
    assert project.git("ls-files", "--others", "--exclude-standard") == ""
    answer = case.trap(local.applied())
    assert [f"{item['action']} {item['source']}" for item in answer["operations"]] == [
        f"add {name}" for name in names
    ]
    assert local.python("import sample_pkg.ita, sample_pkg.fresh; print(sample_pkg.ita.VALUE)") == "1"
    project.git("reset", "--quiet")
    for name in names:
        project.write(name, "VALUE = 2\n")
    answer = case.control(local.applied(), "the same files untracked, edited again")
    assert [item["action"] for item in answer["operations"]] == ["replace", "replace"]


@pytest.mark.case("W19")
@pytest.mark.parametrize("file_mode", ["true", "false"])
def test_only_the_mode_changed(local: LocalScenario, case: Case, file_mode: str) -> None:
    project = local.project
    project.git("config", "core.fileMode", file_mode)
    place = local.environment.site_packages / "sample_pkg/engine.py"
    place.chmod(0o640)
    path = project.path / "sample_pkg/engine.py"
    path.chmod(0o755)
    assert is_clean(local) == (file_mode == "false")
    answer, operations = planned(local)
    assert operations == []
    assert answer["details"]["mode_only"] == [
        "sample_pkg/engine.py: only the executable bit differs, not synced"
    ]
    case.trap(local.push(), "the mode alone: told, and not synced")
    assert place.stat().st_mode & 0o7777 == 0o640

    local.edit_generation()
    answer = case.control(local.applied(), "mode and content: the content is synced, the target's mode stays")
    assert answer["details"]["mode_only"] == [
        "sample_pkg/engine.py: its executable bit differs too; the target's mode stays"
    ]
    assert place.stat().st_mode & 0o7777 == 0o640
    assert place.stat().st_uid == os.geteuid()
    assert local.answer() == "generation 2: 1.0"


def user_excludes(home: Path, kind: str) -> str:
    """Where a user keeps ignore rules of his own, configured or by default; the file's path."""
    file = home / ("ignore" if kind == "configured" else ".config/git/ignore")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("log*\n")
    if kind == "configured":
        with (home / ".gitconfig").open("a") as configuration:
            configuration.write(f"[core]\n\texcludesFile = {file}\n")
    return str(file)


@pytest.mark.case("W08")
@pytest.mark.parametrize("kind", ["configured", "by default"])
def test_a_rule_of_the_user_alone(local: LocalScenario, case: Case, isolation: Path, kind: str) -> None:
    """Two people get one answer from one worktree, so the file is synced; git add would leave it out."""
    project = local.project
    rule = f"{user_excludes(isolation, kind)}:1:log*"
    project.write("sample_pkg/logging_utils.py", "LEVEL = 1\n")
    answer = case.trap(local.applied(), "ignored by a rule of the user: synced, and the rule is told")
    assert [item["source"] for item in answer["operations"]] == ["sample_pkg/logging_utils.py"]
    assert answer["details"]["ignored"] == [
        f"sample_pkg/logging_utils.py: synced, though ignored by {rule}, so that git add leaves it out"
    ]
    (isolation / ".gitconfig").write_text("")
    Path(rule.partition(":")[0]).write_text("")
    answer = case.control(local.ask("status"), "no rule of the user")
    assert answer["details"]["ignored"] == []
