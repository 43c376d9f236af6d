"""Blobs, commits and the content of changes."""

from __future__ import annotations

import hashlib
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from overlaysync.errors import BaselineError, WorktreeChangedError
from overlaysync.model.worktree import ObjectId
from overlaysync.worktree import recent_blobs
from overlaysync.worktree.git import Git
from overlaysync.worktree.recent_blobs import RecentBlobs
from overlaysync.worktree.worktree import Worktree, open_worktree
from tests.parts.repositories import Repository
from tests.worktree.vocabulary import only_change

LARGE = b"line\r\n" * 400_000  # several pieces, and pieces that part CR and LF


def opened(checkout: Repository) -> Worktree:
    return open_worktree(checkout.path)


def test_a_changed_file_is_streamed_in_bounded_pieces(checkout: Repository) -> None:
    checkout.write("p/a.py", LARGE)
    with opened(checkout) as worktree:
        change = only_change(worktree.snapshot())
        pieces = list(worktree.stream(change))
    assert max(map(len, pieces)) <= 256 * 1024
    assert b"".join(pieces) == LARGE.replace(b"\r\n", b"\n")
    assert change.content is not None
    assert change.content.sha256 == hashlib.sha256(b"".join(pieces)).hexdigest()


@pytest.mark.parametrize("written", [b"a = 3\n", b"a = 2\n\n", b"", b"a = 2\n" * 1000])
def test_a_file_that_changed_since_the_snapshot(checkout: Repository, written: bytes) -> None:
    checkout.write("p/a.py", "a = 2\n")
    with opened(checkout) as worktree:
        change = only_change(worktree.snapshot())
        assert worktree.content(change) == b"a = 2\n"
        checkout.write("p/a.py", written)
        with pytest.raises(WorktreeChangedError) as caught:
            worktree.content(change)
    assert (caught.value.code, caught.value.exit_code) == ("unstable-file", 8)


def test_a_file_that_vanished_or_moved_behind_a_link_since_the_snapshot(
    checkout: Repository, tmp_path: Path
) -> None:
    checkout.write("p/a.py", "a = 2\n")
    with opened(checkout) as worktree:
        change = only_change(worktree.snapshot())
        (checkout.path / "p").rename(tmp_path / "outside")
        (checkout.path / "p").symlink_to(tmp_path / "outside")
        with pytest.raises(WorktreeChangedError):
            worktree.content(change)
        (checkout.path / "p").unlink()
        with pytest.raises(WorktreeChangedError):
            worktree.content(change)


def test_a_removed_file_has_no_content(checkout: Repository) -> None:
    (checkout.path / "p/a.py").unlink()
    with opened(checkout) as worktree, pytest.raises(ValueError, match="no regular file"):
        worktree.content(only_change(worktree.snapshot()))


def test_blobs_of_any_content(checkout: Repository) -> None:
    contents = [b"", b"\n", b"no line end", b"\0binary\xff\n\n", LARGE]
    for number, content in enumerate(contents):
        checkout.write(f"p/{number}.bin", content)
    checkout.commit()
    with opened(checkout) as worktree:
        tree = worktree.tree(worktree.repository.head)
        for _ in range(2):
            read = [worktree.blob(entry.oid) for path, entry in tree.items() if path.endswith(".bin")]
            assert read == contents


def test_blobs_are_served_to_several_threads(checkout: Repository) -> None:
    checkout.write("p/large.bin", LARGE)
    checkout.commit()
    wrong: list[bytes] = []
    with opened(checkout) as worktree:
        tree = worktree.tree(worktree.repository.head)
        expected = {entry.oid: (checkout.path / path).read_bytes() for path, entry in tree.items()}

        def read_all() -> None:
            wrong.extend(blob for oid, blob in expected.items() if worktree.blob(oid) != blob)

        threads = [threading.Thread(target=read_all) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_objects_that_are_no_blobs(checkout: Repository) -> None:
    with opened(checkout) as worktree:
        blob = ObjectId(checkout.git("rev-parse", "HEAD:p/a.py"))
        for oid, words in (
            (checkout.head, "is a commit where a blob"),
            ("1" * 40, "does not hold the object"),
            (blob[:12], "not a full object id"),
            ("HEAD:p/a.py\n" + blob, "not a full object id"),
        ):
            with pytest.raises(BaselineError, match=words):
                worktree.blob(ObjectId(oid))
            assert worktree.blob(blob) == b"a = 1\n"


# C05, C07, W17


def test_only_full_ids_of_commits_are_commits(checkout: Repository) -> None:
    checkout.git("tag", "--annotate", "v1", "-m", "v1")
    with opened(checkout) as worktree:
        assert worktree.has_commit(checkout.head)
        for other in (
            checkout.head[:12],
            checkout.head.upper(),
            checkout.head + "\n",
            "HEAD",
            "v1",
            "",
            "1" * 40,
            checkout.git("rev-parse", "v1"),
            checkout.git("rev-parse", "HEAD^{tree}"),
            checkout.git("rev-parse", "HEAD:p/a.py"),
        ):
            assert not worktree.has_commit(other)


def test_the_tree_of_another_commit(checkout: Repository) -> None:
    before = checkout.head
    checkout.write("p/new.py", "")
    checkout.commit()
    with opened(checkout) as worktree:
        assert list(worktree.tree(ObjectId(before))) == ["p/__init__.py", "p/a.py", "p/b.py"]
        with pytest.raises(BaselineError, match=f"does not hold the commit {'1' * 40}") as caught:
            worktree.tree(ObjectId("1" * 40))
    assert "git fetch --all" in str(caught.value.next_step)


def test_a_shallow_clone_says_that_it_is_one(checkout: Repository, tmp_path: Path) -> None:
    before = checkout.head
    checkout.write("p/new.py", "")
    checkout.commit()
    checkout.git("clone", "--quiet", "--depth=1", f"file://{checkout.path}", str(tmp_path / "shallow"))
    with open_worktree(tmp_path / "shallow") as worktree:
        assert worktree.repository.shallow
        assert worktree.has_commit(checkout.head)
        assert not worktree.has_commit(before)
        with pytest.raises(BaselineError) as caught:
            worktree.tree(ObjectId(before))
    assert "--unshallow" in str(caught.value.next_step)


def test_replace_references_are_not_followed(checkout: Repository) -> None:
    blob = ObjectId(checkout.git("rev-parse", "HEAD:p/a.py"))
    checkout.git("replace", blob, checkout.git("rev-parse", "HEAD:p/b.py"))
    with opened(checkout) as worktree:
        assert worktree.blob(blob) == b"a = 1\n"
        assert worktree.snapshot().changes == ()


def test_whether_head_moved(checkout: Repository) -> None:
    with opened(checkout) as worktree:
        checkout.git("switch", "--quiet", "-c", "same")
        assert not worktree.moved()
        checkout.write("p/a.py", "a = 2\n")
        checkout.commit()
        assert worktree.moved()
        assert worktree.repository.head != checkout.head
        assert [change.path for change in worktree.snapshot().changes] == ["p/a.py"]


def test_what_was_read_before_is_not_read_again(
    checkout: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    real = Git.start

    def start(git: Git, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        started.append(arguments[0])
        return real(git, *arguments, **options)

    monkeypatch.setattr(Git, "start", start)
    recent, seen = RecentBlobs(), []
    for written in ("a = 2\n", "a = 3\n"):
        checkout.write("p/a.py", written)
        with open_worktree(checkout.path, recent=recent) as worktree:
            change = only_change(worktree.snapshot())
            assert change.head is not None
            seen.append((worktree.blob(change.head.oid), worktree.content(change), started.count("cat-file")))
    blob = checkout.git_bytes("cat-file", "blob", "HEAD:p/a.py")
    assert seen == [(blob, b"a = 2\n", 1), (blob, b"a = 3\n", 1)]


def test_of_what_was_read_the_oldest_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_blobs, "LIMIT", 10)
    monkeypatch.setattr(recent_blobs, "LARGEST", 8)
    recent, oids = RecentBlobs(), [ObjectId(digit * 40) for digit in "abcd"]
    for oid, size in zip(oids, (4, 4, 4, 9), strict=True):
        recent.keep(oid, b"x" * size)
        recent.keep(oid, b"x" * size)
    assert [recent.get(oid) for oid in oids] == [None, b"xxxx", b"xxxx", None]
