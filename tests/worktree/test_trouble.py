"""Trouble with single paths is told as problems; the rest is seen all the same."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from overlaysync.errors import BaselineError
from overlaysync.worktree.files import BehindLinkError, Folders, MovingFileError, OpenFile, UnsafeNameError
from overlaysync.worktree.worktree import open_worktree
from tests.parts.repositories import Repository
from tests.worktree.conftest import Seen
from tests.worktree.vocabulary import changed, refused

# Files that move while they are read


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    """A handle of the test's own folder."""
    with Folders(str(tmp_path)) as folders:
        yield folders.enter("")


def test_a_file_that_stands_still_is_read_as_often_as_wanted(folder: int, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 10)
    with OpenFile(folder, b"f") as file:
        assert list(file.pieces(4)) == [b"xxxx", b"xxxx", b"xx"]
        assert b"".join(file.pieces()) == b"x" * 10
        file.stood_still()


@pytest.mark.parametrize("written", [b"longer than before", b"short", b""])
def test_a_file_of_another_size_than_it_was(folder: int, tmp_path: Path, written: bytes) -> None:
    (tmp_path / "f").write_bytes(b"x" * 10)
    with OpenFile(folder, b"f") as file:
        (tmp_path / "f").write_bytes(written)
        with pytest.raises(MovingFileError, match="size changed"):
            list(file.pieces())


def test_a_file_that_is_written_in_place(folder: int, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 10)
    os.utime(tmp_path / "f", (1, 1))
    with OpenFile(folder, b"f") as file:
        (tmp_path / "f").write_bytes(b"y" * 10)
        list(file.pieces())
        with pytest.raises(MovingFileError, match="changed while"):
            file.stood_still()


def test_a_file_that_vanishes_or_becomes_something_else(folder: int, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("f")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "directory").mkdir()
    for name in (b"nothing", b"link", b"fifo", b"directory"):
        with pytest.raises(MovingFileError):
            OpenFile(folder, name)


def test_folders_are_entered_in_any_order_but_never_by_links_or_upwards(tmp_path: Path) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "ab").mkdir()
    (tmp_path / "a/link").symlink_to("b")
    with Folders(str(tmp_path)) as folders:
        for directory in ("a/b/c", "ab", "a", "", "a/b"):
            assert os.path.sameopenfile(folders.enter(directory), os.open(tmp_path / directory, os.O_RDONLY))
        with pytest.raises(BehindLinkError) as caught:
            folders.enter("a/link/c")
        assert caught.value.link == "a/link"
        for unsafe in ("..", "a/../..", "a//b", ".", ".git", "a/.GIT/hooks"):
            with pytest.raises(UnsafeNameError):
                folders.enter(unsafe)
        with pytest.raises(FileNotFoundError):
            folders.enter("a/none")


# A tree that git would not check out


def test_a_tree_that_leads_out_of_the_checkout(checkout: Repository, tmp_path: Path, see: Seen) -> None:
    (tmp_path / "secret").write_text("secret\n")
    blob = checkout.git("rev-parse", "HEAD:p/a.py")
    raw = b"100644 secret\0" + bytes.fromhex(blob)
    inner = subprocess.run(
        ["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"],
        cwd=checkout.path,
        input=raw,
        capture_output=True,
        check=True,
    ).stdout
    outer = subprocess.run(
        ["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"],
        cwd=checkout.path,
        input=b"40000 ..\0" + bytes.fromhex(inner.decode()),
        capture_output=True,
        check=True,
    ).stdout
    commit = checkout.git("commit-tree", outer.decode().strip(), "-m", "Hostile")
    checkout.git("update-ref", "HEAD", commit)
    snapshot = see()
    assert refused(snapshot) == ["unsafe-name ../secret"]
    assert "../secret" not in [change.path for change in snapshot.changes]


# Permissions; root may read everything, so these run as somebody else


@pytest.fixture
def unprivileged() -> Iterator[Repository]:
    """A checkout of another user, with that user's effective id while the test runs."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory(prefix="overlaysync-unprivileged-") as place:
        os.chown(place, 12345, 12345)
        home = os.environ["HOME"]
        os.environ["HOME"] = os.environ["XDG_CONFIG_HOME"] = place
        os.seteuid(12345)
        try:
            checkout = Repository(Path(place) / "checkout")
            checkout.write("p/a.py", "a = 1\n")
            checkout.write("p/b.py", "b = 1\n")
            checkout.write("q/c.py", "c = 1\n")
            checkout.commit()
            yield checkout
        finally:
            os.seteuid(0)
            os.environ["HOME"] = home


def test_files_and_directories_that_cannot_be_read(unprivileged: Repository) -> None:
    (unprivileged.path / "p/b.py").write_text("b = 2\n")
    (unprivileged.path / "p/a.py").chmod(0)
    unprivileged.write("new/d.py", "")
    for name in ("q", "new"):
        (unprivileged.path / name).chmod(0)
    with open_worktree(unprivileged.path) as worktree:
        snapshot = worktree.snapshot()
    for name in ("q", "new"):
        (unprivileged.path / name).chmod(0o755)
    assert changed(snapshot) == ["modified p/b.py"]
    paths = ["p/a.py", "q/c.py", None, None]
    assert refused(snapshot) == [f"unreadable-file {path}" for path in paths]
    assert "'p/a.py' cannot be read: Permission denied" in snapshot.problems[0].message
    listings = [problem.message for problem in snapshot.problems[2:]]
    assert "could not open directory 'new/'" in min(listings)
    assert "could not open directory 'q/'" in max(listings)


# A repository that tries to start programs


def test_no_program_of_the_repository_is_started(checkout: Repository, see: Seen, tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho sprung >> {trap}\ncat\n")
    program.chmod(0o755)
    for key in ("filter.trap.clean", "filter.trap.smudge", "filter.trap.process", "diff.trap.textconv"):
        checkout.git("config", key, str(program))
    for key in ("core.fsmonitor", "core.pager", "diff.external", "diff.trap.command", "core.sshCommand"):
        checkout.git("config", key, str(program))
    hooks = checkout.path / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout"):
        os.symlink(program, hooks / hook)
    checkout.write(".gitattributes", "*.py filter=trap diff=trap\n")
    checkout.write("p/a.py", "a = 2\n")
    os.utime(checkout.path / "p/b.py", (1, 1))
    assert refused(see()) == ["git-filter p/a.py"]
    assert not trap.exists()
    checkout.git("diff")
    assert trap.exists()


def test_a_missing_object_is_never_fetched(checkout: Repository, tmp_path: Path) -> None:
    checkout.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    checkout.git("clone", "--quiet", "--filter=blob:none", f"file://{checkout.path}", str(clone))
    partial = Repository(clone)
    partial.git("config", "protocol.file.allow", "always")
    old_blob = checkout.git("rev-parse", "HEAD:p/a.py")
    checkout.write("p/a.py", "a = 3\n")
    new_blob = checkout.git("hash-object", "-w", "p/a.py")
    checkout.commit()
    partial.git("fetch", "--quiet")
    with open_worktree(clone) as worktree:
        assert worktree.blob(old_blob) == b"a = 1\n"  # type: ignore[arg-type]
        with pytest.raises(BaselineError, match=f"does not hold the object {new_blob}"):
            worktree.blob(new_blob)  # type: ignore[arg-type]
        assert worktree.blob(old_blob) == b"a = 1\n"  # type: ignore[arg-type]
        assert worktree.has_commit(partial.head)
        assert worktree.has_commit(checkout.head)
        assert not worktree.has_commit("1" * 40)
        assert list(worktree.tree(partial.git("rev-parse", "origin/main")))  # type: ignore[arg-type]
