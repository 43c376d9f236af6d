"""What a snapshot shows as changed, and what it must not."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from overlaysync.model.worktree import ChangeKind, Content, ObjectId, Sha256, Snapshot
from overlaysync.worktree.worktree import open_worktree
from tests.parts.repositories import Repository
from tests.worktree.conftest import Seen
from tests.worktree.vocabulary import changed, explained, only_change, refused


def test_nothing_changed(checkout: Repository, see: Seen) -> None:
    snapshot = see()
    assert list(snapshot.tree) == ["p/__init__.py", "p/a.py", "p/b.py"]
    assert snapshot == Snapshot(snapshot.repository, snapshot.tree, ())


def test_each_kind_in_order_of_path(checkout: Repository, see: Seen) -> None:
    checkout.write("p/b.py", "b = 2\n")
    checkout.write("p/sub/new.py", "new = 1\n").chmod(0o755)
    (checkout.path / "p/a.py").unlink()
    snapshot = see()
    assert changed(snapshot) == ["removed p/a.py", "modified p/b.py", "added p/sub/new.py"]
    removed, modified, added = snapshot.changes
    assert (removed.head, removed.content) == (snapshot.tree[removed.path], None)
    assert modified.content == Content(
        Sha256(hashlib.sha256(b"b = 2\n").hexdigest()), ObjectId(checkout.git("hash-object", "p/b.py")), 6
    )
    assert (added.head, added.executable, modified.executable) == (None, True, False)


def test_a_deleted_directory(checkout: Repository, see: Seen) -> None:
    shutil.rmtree(checkout.path / "p")
    assert changed(see()) == ["removed p/__init__.py", "removed p/a.py", "removed p/b.py"]


def test_a_change_that_keeps_size_and_time(checkout: Repository, see: Seen) -> None:
    file = checkout.path / "p/a.py"
    before = file.stat()
    file.write_text("a = 2\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert changed(see()) == ["modified p/a.py"]


# W01


def test_flags_of_the_index_hide_nothing(checkout: Repository, see: Seen) -> None:
    checkout.git("update-index", "--skip-worktree", "p/a.py")
    checkout.git("update-index", "--assume-unchanged", "p/b.py")
    assert (see().hidden, changed(see())) == (("p/a.py", "p/b.py"), [])
    checkout.write("p/a.py", "a = 2\n")
    checkout.write("p/b.py", "b = 2\n")
    assert checkout.git("status", "--porcelain") == ""
    assert changed(see()) == ["modified p/a.py", "modified p/b.py"]


def test_an_assume_unchanged_file_that_is_gone_is_removed(checkout: Repository, see: Seen) -> None:
    checkout.git("update-index", "--assume-unchanged", "p/b.py")
    (checkout.path / "p/b.py").unlink()
    assert changed(see()) == ["removed p/b.py"]


@pytest.mark.parametrize("command", ["add p/a.py", "rm -q --cached p/a.py"])
def test_the_index_does_not_decide(checkout: Repository, see: Seen, command: str) -> None:
    checkout.write("p/a.py", "a = 2\n")
    checkout.git(*command.split(), *(["-f"] if "rm" in command else []))
    assert changed(see()) == ["modified p/a.py"]
    checkout.write("p/a.py", "a = 1\n")
    assert changed(see()) == []


# W13


def test_a_sparse_checkout_is_no_deletion(checkout: Repository, see: Seen) -> None:
    checkout.write("q/c.py", "c = 1\n")
    checkout.write("q/d.py", "d = 1\n")
    checkout.commit()
    checkout.git("sparse-checkout", "set", "p")
    assert not (checkout.path / "q").exists()
    assert (changed(see()), see().hidden) == ([], ("q/c.py", "q/d.py"))
    checkout.write("q/c.py", "c = 2\n")
    (checkout.path / "p/a.py").unlink()
    snapshot = see()
    assert changed(snapshot) == ["removed p/a.py", "modified q/c.py"]
    assert snapshot.hidden == ("q/c.py", "q/d.py")


def test_a_sparse_index(checkout: Repository, see: Seen) -> None:
    checkout.write("q/c.py", "c = 1\n")
    checkout.commit()
    checkout.git("sparse-checkout", "set", "--cone", "--sparse-index", "p")
    assert (changed(see()), see().hidden) == ([], ("q/c.py",))


# W14


def test_new_files_are_found_however_they_are_added(checkout: Repository, see: Seen) -> None:
    for name in ("intent", "staged", "untracked", "gone"):
        checkout.write(f"p/{name}.py", "")
    checkout.git("add", "-N", "p/intent.py")
    checkout.git("add", "p/staged.py", "p/gone.py")
    (checkout.path / "p/gone.py").unlink()
    assert changed(see()) == ["added p/intent.py", "added p/staged.py", "added p/untracked.py"]


# W10


def test_names_of_any_bytes(checkout: Repository, see: Seen) -> None:
    names = [
        b"caf\xc3\xa9.py",
        b"latin-\xe9.py",
        b"new\nline.py",
        b"sp ace.py",
        b'tab\tquote".py',
        b":(top).py",
    ]
    folder = os.fsencode(checkout.path / "p")
    for name in names:
        Path(os.fsdecode(folder + b"/" + name)).write_bytes(b"1\n")
    expected = sorted(f"p/{name.decode('utf-8', 'surrogateescape')}" for name in names)
    assert [change.path for change in see().changes] == expected
    checkout.commit()
    assert changed(see()) == []
    for name in names:
        Path(os.fsdecode(folder + b"/" + name)).write_bytes(b"2\n")
    snapshot = see()
    assert [change.path for change in snapshot.changes] == expected
    with open_worktree(checkout.path) as worktree:
        assert {worktree.content(change) for change in snapshot.changes} == {b"2\n"}


def test_names_in_a_locale_that_has_none_of_their_letters(tmp_path: Path) -> None:
    checkout = Repository(tmp_path / "café")
    checkout.write("p/é.py", "1\n")
    checkout.commit()
    checkout.write("p/é.py", "2\n")
    checkout.write("p/ü/ü.py", "")
    script = (
        "import sys; from pathlib import Path; from overlaysync.worktree.worktree import open_worktree\n"
        "with open_worktree(Path(sys.argv[1]), Path(sys.argv[2])) as worktree:\n"
        "    seen = worktree.snapshot()\n"
        "    print(sys.getfilesystemencoding(), *(ascii(change.path) for change in seen.changes))\n"
        "    print(worktree.content(seen.changes[0]))\n"
    )
    locale = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-c", script, os.fsencode(checkout.path), os.fsencode(tmp_path / "cache")],
        env=os.environ | locale,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("ascii 'p/\\xe9.py' 'p/\\xfc/\\xfc.py'\nb'2\\n'\n", "")


# W19


@pytest.mark.parametrize("file_mode", ["true", "false"])
def test_the_executable_bit_alone_is_told_apart(checkout: Repository, see: Seen, file_mode: str) -> None:
    checkout.git("config", "core.fileMode", file_mode)
    (checkout.path / "p/a.py").chmod(0o755)
    (checkout.path / "p/b.py").chmod(0o666)  # git keeps no other bit
    assert (changed(see()), see().mode_only) == ([], ("p/a.py",))
    checkout.write("p/a.py", "a = 2\n")
    assert (changed(see()), see().mode_only) == (["modified p/a.py"], ())
    assert only_change(see()).executable


# Types


def test_links(checkout: Repository, see: Seen) -> None:
    for name in ("same", "other", "gone"):
        (checkout.path / f"p/{name}.py").symlink_to("a.py")
    checkout.commit()
    assert changed(see()) == []
    (checkout.path / "p/gone.py").unlink()
    (checkout.path / "p/new.py").symlink_to("b.py")
    (checkout.path / "p/other.py").unlink()
    (checkout.path / "p/other.py").symlink_to("b.py")
    snapshot = see()
    assert all(change.content is None for change in snapshot.changes)
    assert explained(snapshot) == [
        "removed p/gone.py: the link's target was 'a.py'",
        "added p/new.py: is a symbolic link to 'b.py'",
        "modified p/other.py: the link's target was 'a.py', is 'b.py' now",
    ]


def test_a_link_that_became_a_file_and_the_reverse(checkout: Repository, see: Seen) -> None:
    (checkout.path / "p/link.py").symlink_to("a.py")
    checkout.commit()
    (checkout.path / "p/link.py").unlink()
    checkout.write("p/link.py", "a = 1\n")
    (checkout.path / "p/a.py").unlink()
    (checkout.path / "p/a.py").symlink_to("b.py")
    file, link = see().changes
    assert (file.kind, file.content, file.note) == (
        ChangeKind.RETYPED,
        None,
        "was a regular file, is a symbolic link now",
    )
    assert (link.kind, link.note) == (ChangeKind.RETYPED, "was a symbolic link, is a regular file now")
    assert link.content is not None
    assert link.content.blob == checkout.git("hash-object", "p/link.py")


def test_a_file_that_became_a_directory(checkout: Repository, see: Seen) -> None:
    (checkout.path / "p/a.py").unlink()
    checkout.write("p/a.py/inner.py", "")
    assert changed(see()) == ["retyped p/a.py", "added p/a.py/inner.py"]


def test_a_directory_that_became_a_file(checkout: Repository, see: Seen) -> None:
    shutil.rmtree(checkout.path / "p")
    checkout.write("p", "")
    assert changed(see()) == ["added p", "removed p/__init__.py", "removed p/a.py", "removed p/b.py"]


def test_nothing_is_read_through_a_linked_directory(checkout: Repository, see: Seen, tmp_path: Path) -> None:
    shutil.move(checkout.path / "p", tmp_path / "outside")
    (checkout.path / "p").symlink_to(tmp_path / "outside")
    (tmp_path / "outside" / "a.py").write_text("secret\n")
    snapshot = see()
    assert changed(snapshot) == ["added p", "retyped p/__init__.py", "retyped p/a.py", "retyped p/b.py"]
    assert all(change.content is None for change in snapshot.changes)
    assert "'p' is a symbolic link now" in str(snapshot.changes[1].note)


def test_special_files_are_never_opened(checkout: Repository, see: Seen) -> None:
    (checkout.path / "p/a.py").unlink()
    os.mkfifo(checkout.path / "p/a.py")  # opening it would wait for ever
    checkout.write("p/new.py", "")
    checkout.git("add", "p/new.py")
    (checkout.path / "p/new.py").unlink()
    os.mkfifo(checkout.path / "p/new.py")
    (checkout.path / "p/b.py").unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(checkout.path / "p/b.py"))  # the name of a socket may not be long
        snapshot = see()
    assert all(change.content is None for change in snapshot.changes)
    assert explained(snapshot) == [
        "retyped p/a.py: was a regular file, is a FIFO now",
        "retyped p/b.py: was a regular file, is a socket now",
        "added p/new.py: is a FIFO",
    ]


def test_a_nested_repository_is_not_ours(checkout: Repository, see: Seen) -> None:
    nested = Repository(checkout.path / "p/nested")
    nested.write("inner.py", "")
    assert changed(see()) == []
    checkout.write("p/beside.py", "")
    assert changed(see()) == ["added p/beside.py"]


# W16


def test_a_rename_of_letter_case_only(checkout: Repository, see: Seen) -> None:
    (checkout.path / "p/a.py").rename(checkout.path / "p/A.py")
    snapshot = see()
    assert changed(snapshot) == ["added p/A.py", "removed p/a.py"]
    assert refused(snapshot) == ["case-collision p/A.py"]


def test_a_new_path_that_differs_in_letter_case_only(checkout: Repository, see: Seen) -> None:
    checkout.write("p/B.py", "")
    checkout.write("p/c.py", "")
    assert refused(see()) == ["case-collision p/B.py"]


def test_two_paths_of_head_collide_only_where_one_is_changed(checkout: Repository, see: Seen) -> None:
    checkout.write("p/B.py", "")
    checkout.commit()
    assert refused(see()) == []
    checkout.write("p/a.py", "a = 2\n")
    assert refused(see()) == []
    checkout.write("p/b.py", "b = 2\n")
    assert refused(see()) == ["case-collision p/b.py"]
    (checkout.path / "p/B.py").unlink()
    assert refused(see()) == []
