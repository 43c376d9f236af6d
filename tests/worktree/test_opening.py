"""What can be opened as a worktree, and what is refused."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from overlaysync.errors import BaselineError, UsageError
from overlaysync.worktree.repository import without_credentials
from overlaysync.worktree.worktree import open_worktree
from tests.parts.repositories import Repository


def test_a_repository_is_described(checkout: Repository) -> None:
    checkout.git("remote", "add", "origin", "https://someone:secret@example.org/team/project.git")
    with open_worktree(checkout.path / "p") as worktree:
        assert worktree.repository.root == str(checkout.path)
        assert worktree.repository.head == checkout.head
        assert worktree.repository.branch == "main"
        assert worktree.repository.remote == "https://example.org/team/project.git"
        assert worktree.repository.object_format == "sha1"
        assert not worktree.repository.shallow


def test_a_detached_head_has_no_branch_and_no_remote_is_none(checkout: Repository) -> None:
    checkout.git("switch", "--quiet", "--detach")
    with open_worktree(checkout.path) as worktree:
        assert worktree.repository.branch is None
        assert worktree.repository.remote is None


def test_the_only_remote_is_taken_and_of_several_only_origin(checkout: Repository) -> None:
    checkout.git("remote", "add", "fork", "git@example.org:me/project.git")
    with open_worktree(checkout.path) as worktree:
        assert worktree.repository.remote == "git@example.org:me/project.git"
    checkout.git("remote", "add", "other", "git@example.org:you/project.git")
    with open_worktree(checkout.path) as worktree:
        assert worktree.repository.remote is None


@pytest.mark.parametrize(
    ("url", "written"),
    [
        ("https://example.org/p.git", "https://example.org/p.git"),
        ("https://token@example.org/p.git", "https://example.org/p.git"),
        ("https://git:token@example.org:8443/p.git?private_token=x", "https://example.org:8443/p.git"),
        ("https://user:pa@ss@example.org/@scope/p", "https://example.org/@scope/p"),
        ("https://user:pa/ss@example.org/p", None),
        ("https://[broken/p", None),
        ("ssh://git@example.org:22/p.git", "ssh://git@example.org:22/p.git"),
        ("ssh://git:secret@example.org/p.git", "ssh://example.org/p.git"),
        ("ssh://jane@example.org/p.git", "ssh://example.org/p.git"),
        ("git@example.org:team/p.git", "git@example.org:team/p.git"),
        ("jane@example.org:team/p.git", "example.org:team/p.git"),
        ("user:token@example.org/p.git", "example.org/p.git"),
        ("ssh://git@[2001:db8::1]:22/p.git", "ssh://git@[2001:db8::1]:22/p.git"),
        ("/srv/mirror/a@b:c.git", "/srv/mirror/a@b:c.git"),
        ("ext::ssh -i key user:secret@example.org", None),
    ],
)
def test_a_remote_is_written_down_without_credentials(url: str, written: str | None) -> None:
    assert without_credentials(url) == written


def test_sha256_repositories(tmp_path: Path) -> None:
    path = tmp_path / "checkout"
    path.mkdir()
    Repository(tmp_path / "elsewhere").git("init", "--quiet", "--object-format=sha256", str(path))
    checkout = Repository(path)
    checkout.write("a.py", "a = 1\n")
    head = checkout.commit()
    checkout.write("a.py", "a = 2\n")
    with open_worktree(path, tmp_path / "cache") as worktree:
        assert worktree.repository.object_format == "sha256"
        (change,) = worktree.snapshot().changes
        assert change.content is not None
        assert change.content.blob == checkout.git("hash-object", "a.py")
        assert worktree.has_commit(head)
        assert not worktree.has_commit(head[:40])


def test_a_linked_worktree_is_one_of_its_own(checkout: Repository, tmp_path: Path) -> None:
    checkout.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))
    (tmp_path / "linked/p/a.py").write_text("a = 2\n")
    with open_worktree(tmp_path / "linked/p") as worktree:
        assert worktree.repository.root == str(tmp_path / "linked")
        assert worktree.repository.branch == "side"
        assert [change.path for change in worktree.snapshot().changes] == ["p/a.py"]
    with open_worktree(checkout.path) as worktree:
        assert worktree.snapshot().changes == ()


def test_a_root_that_is_reached_by_a_link(checkout: Repository, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(checkout.path)
    with open_worktree(tmp_path / "link" / "p") as worktree:
        assert worktree.repository.root == str(checkout.path)


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not in a git repository") as caught:
        open_worktree(tmp_path)
    assert "-C DIR" in str(caught.value.next_step)


def test_no_directory(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a directory"):
        open_worktree(tmp_path / "nowhere")


def test_a_bare_repository(checkout: Repository, tmp_path: Path) -> None:
    checkout.git("clone", "--quiet", "--bare", str(checkout.path), str(tmp_path / "bare"))
    with pytest.raises(UsageError, match=r"is a bare repository|inside a git directory"):
        open_worktree(tmp_path / "bare")


def test_a_git_directory(checkout: Repository) -> None:
    with pytest.raises(UsageError, match="inside a git directory"):
        open_worktree(checkout.path / ".git" / "objects")


@pytest.mark.parametrize("place", ["/", "..", "elsewhere"])
def test_a_checkout_that_lies_elsewhere(checkout: Repository, tmp_path: Path, place: str) -> None:
    (checkout.path / "elsewhere").mkdir()
    checkout.git("config", "core.worktree", str((checkout.path / place).resolve()))
    with pytest.raises(UsageError, match=r"core\.worktree"):
        open_worktree(checkout.path)
    checkout.git("config", "core.worktree", str(checkout.path))
    open_worktree(checkout.path).close()


def test_another_repository_at_the_place_that_core_worktree_names(tmp_path: Path) -> None:
    outer, inner = Repository(tmp_path), Repository(tmp_path / "inner")
    for repository in (outer, inner):
        repository.write("a.py", "")
        repository.git("add", "a.py")
        repository.git("commit", "--quiet", "-m", "x")
    inner.git("config", "core.worktree", str(outer.path))
    with pytest.raises(UsageError, match=r"core\.worktree"):
        open_worktree(inner.path)


def test_git_variables_of_the_caller_are_ignored(
    checkout: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Repository(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.path))
    with open_worktree(checkout.path) as worktree:
        assert worktree.repository.root == str(checkout.path)
        assert worktree.snapshot().changes == ()


def test_no_git(checkout: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match="git is not installed"):
        open_worktree(checkout.path)


def test_no_commit(tmp_path: Path) -> None:
    checkout = Repository(tmp_path / "checkout")
    with pytest.raises(BaselineError, match="no commit at HEAD") as caught:
        open_worktree(checkout.path)
    assert "git commit" in str(caught.value.next_step)


@pytest.fixture
def conflict(checkout: Repository) -> Repository:
    """Branches ``main`` and ``side`` that change the same line; main is checked out."""
    checkout.git("switch", "--quiet", "-c", "side")
    checkout.write("p/a.py", "a = 'side'\n")
    checkout.commit("Side")
    checkout.git("switch", "--quiet", "main")
    checkout.write("p/a.py", "a = 'main'\n")
    checkout.commit("Main")
    return checkout


@pytest.mark.parametrize(
    ("command", "named", "end"),
    [
        ("merge side", "merge", "git merge --abort"),
        ("rebase side", "rebase", "git rebase --abort"),
        ("rebase --apply side", "rebase", "git rebase --abort"),
        ("cherry-pick side", "cherry-pick", "git cherry-pick --abort"),
        ("revert side", "revert", "git revert --abort"),
    ],
)
def test_an_unfinished_operation(conflict: Repository, command: str, named: str, end: str) -> None:
    open_worktree(conflict.path).close()
    with pytest.raises(RuntimeError, match="exited 1"):
        conflict.git(*command.split())
    with pytest.raises(BaselineError, match=f"a {named} is in progress") as caught:
        open_worktree(conflict.path)
    assert end in str(caught.value.next_step)
    conflict.git(*end.split()[1:])
    open_worktree(conflict.path).close()


def test_an_unfinished_am(conflict: Repository, tmp_path: Path) -> None:
    (tmp_path / "patch").write_bytes(conflict.git_bytes("format-patch", "--stdout", "main..side"))
    with pytest.raises(RuntimeError):
        conflict.git("am", str(tmp_path / "patch"))
    with pytest.raises(BaselineError, match="a git am is in progress"):
        open_worktree(conflict.path)


def test_a_bisect(conflict: Repository) -> None:
    conflict.git("bisect", "start")
    with pytest.raises(BaselineError, match="bisect is in progress") as caught:
        open_worktree(conflict.path)
    assert "git bisect reset" in str(caught.value.next_step)


def test_unmerged_paths_without_any_operation(conflict: Repository) -> None:
    (conflict.path / "p/a.py").write_text("a = 'mine'\n")
    conflict.git("stash")
    conflict.write("p/a.py", "a = 'again'\n")
    conflict.commit()
    with pytest.raises(RuntimeError):
        conflict.git("stash", "pop")
    with (
        open_worktree(conflict.path) as worktree,
        pytest.raises(BaselineError, match=r"unmerged paths: 'p/a\.py'"),
    ):
        worktree.snapshot()


def test_paths_that_become_unmerged_later_end_the_snapshot(conflict: Repository) -> None:
    with open_worktree(conflict.path) as worktree:
        worktree.snapshot()
        with pytest.raises(RuntimeError):
            conflict.git("merge", "side")
        with pytest.raises(BaselineError, match="unmerged paths"):
            worktree.snapshot()


@pytest.fixture
def foreign(isolation: Path) -> Iterator[Repository]:
    """A checkout of another user, readable for everyone."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory to another user")
    path = Path(tempfile.mkdtemp(prefix="overlaysync-foreign-"))
    checkout = Repository(path)
    checkout.write("a.py", "a = 1\n")
    checkout.commit()
    for directory, _, names in os.walk(path):
        for name in (".", *names):
            os.chown(os.path.join(directory, name), 12345, 12345)
    yield checkout
    shutil.rmtree(path)


def test_dubious_ownership_is_told_in_gits_words_until_the_user_allows_it(
    foreign: Repository, isolation: Path
) -> None:
    before = (isolation / ".gitconfig").read_text()
    with pytest.raises(BaselineError, match="detected dubious ownership") as caught:
        open_worktree(foreign.path)
    assert "safe.directory" in str(caught.value.next_step)
    assert (isolation / ".gitconfig").read_text() == before
    (isolation / ".gitconfig").write_text(f"[safe]\n\tdirectory = {foreign.path}\n")
    open_worktree(foreign.path).close()


def test_a_damaged_repository_is_told_in_gits_words(checkout: Repository) -> None:
    (checkout.path / ".git/config").write_text("[core\n")
    with pytest.raises(BaselineError, match=r"exit status 128: .*bad config"):
        open_worktree(checkout.path)


@pytest.mark.parametrize("state", ["branch", "detached", "tag of that name", "odd name"])
def test_the_branch_of_head(checkout: Repository, state: str) -> None:
    head, name = checkout.head, "main"
    if state == "odd name":
        name = "feature\u2028\u0085x"
        checkout.git("switch", "--quiet", "--create", name)
    if state == "detached":
        checkout.git("switch", "--quiet", "--detach")
    if state == "tag of that name":
        checkout.git("update-ref", "refs/tags/HEAD", checkout.head)
    with open_worktree(checkout.path) as worktree:
        branch = None if state == "detached" else name
        assert (worktree.repository.head, worktree.repository.branch) == (head, branch)
