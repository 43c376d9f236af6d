"""The stat cache saves reading, and is never believed against the bytes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from overlaysync.agent.stamp import stamp_of
from overlaysync.model.stamp import Stamp
from overlaysync.worktree.cache import SETTLED_NS, StatCache
from overlaysync.worktree.worktree import open_worktree
from tests.parts.repositories import Repository
from tests.worktree.vocabulary import changed

BLOB = b"\xab" * 20


@pytest.fixture
def stamp(tmp_path: Path) -> Stamp:
    """Of some file."""
    (tmp_path / "f").write_text("x")
    return stamp_of((tmp_path / "f").stat())


def settled(stamp: Stamp) -> int:
    """A time at which a file of this status is no longer racy."""
    return max(stamp[3:5]) + SETTLED_NS + 1


def test_what_was_remembered_is_recalled_by_the_next_run(tmp_path: Path, stamp: Stamp) -> None:
    cache = StatCache(tmp_path / "new/cache", len(BLOB))
    assert cache.recall("f", stamp) is None
    cache.remember("f", stamp, BLOB, settled(stamp))
    cache.save()
    assert cache.recall("f", stamp) == BLOB
    assert StatCache(tmp_path / "new/cache", len(BLOB)).recall("f", stamp) == BLOB
    assert StatCache(tmp_path / "new/cache", len(BLOB)).recall("g", stamp) is None
    assert os.listdir(tmp_path / "new") == ["cache"]


@pytest.mark.parametrize("field", range(6))
def test_any_difference_of_status_forgets(tmp_path: Path, stamp: Stamp, field: int) -> None:
    cache = StatCache(tmp_path / "cache", len(BLOB))
    cache.remember("f", stamp, BLOB, settled(stamp))
    cache.save()
    assert cache.recall("f", stamp) == BLOB
    other = [part + (place == field) for place, part in enumerate(stamp)]
    assert cache.recall("f", (other[0], other[1], other[2], other[3], other[4], other[5])) is None


def test_a_file_that_was_touched_just_now_is_not_remembered(tmp_path: Path, stamp: Stamp) -> None:
    cache = StatCache(tmp_path / "cache", len(BLOB))
    cache.remember("f", stamp, BLOB, settled(stamp) - 1)
    cache.save()
    assert cache.recall("f", stamp) is None
    assert not (tmp_path / "cache").exists()


def test_what_was_not_seen_again_is_dropped(tmp_path: Path, stamp: Stamp) -> None:
    cache = StatCache(tmp_path / "cache", len(BLOB))
    for name in ("f", "g"):
        cache.remember(name, stamp, BLOB, settled(stamp))
    cache.save()
    cache.recall("f", stamp)
    cache.save()
    assert cache.recall("g", stamp) is None
    assert StatCache(tmp_path / "cache", len(BLOB)).recall("f", stamp) == BLOB


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "version", "directory", "longer"])
def test_a_damaged_file_is_an_empty_cache(tmp_path: Path, stamp: Stamp, damage: str) -> None:
    file = tmp_path / "cache"
    cache = StatCache(file, len(BLOB))
    cache.remember("f", stamp, BLOB, settled(stamp))
    cache.save()
    raw = file.read_bytes()
    file.unlink()
    if damage == "directory":
        file.mkdir()
    else:
        file.write_bytes(
            {
                "empty": b"",
                "cut": raw[:-1],
                "flipped": raw[:-1] + bytes([raw[-1] ^ 1]),
                "version": raw.replace(b"cache 1", b"cache 2"),
                "longer": raw + b"\0" * 36,
            }[damage]
        )
    reopened = StatCache(file, len(BLOB))
    assert reopened.recall("f", stamp) is None
    reopened.remember("f", stamp, BLOB, settled(stamp))
    reopened.save()
    assert reopened.recall("f", stamp) == BLOB


def test_no_file_means_no_cache(stamp: Stamp) -> None:
    cache = StatCache(None, len(BLOB))
    cache.remember("f", stamp, BLOB, settled(stamp))
    cache.save()
    assert cache.recall("f", stamp) is None


@pytest.fixture
def files_read(monkeypatch: pytest.MonkeyPatch) -> set[bytes]:
    """The names that are opened below a directory's handle, filled while the test runs."""
    names: set[bytes] = set()
    really_open = os.open

    def recording_open(path: bytes, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None and not flags & os.O_DIRECTORY:
            names.add(path)
        return really_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", recording_open)
    return names


def test_an_unchanged_worktree_is_not_read_again_and_changes_are_seen(
    checkout: Repository, tmp_path: Path, files_read: set[bytes]
) -> None:
    cache = tmp_path / "cache"
    checkout.write("p/b.py", b"b = 1\r\n")  # a converted checkout is remembered too
    time.sleep(SETTLED_NS / 1e9 + 0.1)  # ctime cannot be set
    with open_worktree(checkout.path, cache) as worktree:
        assert changed(worktree.snapshot()) == []
        assert files_read == {b"__init__.py", b"a.py", b"b.py"}
    files_read.clear()
    with open_worktree(checkout.path, cache) as worktree:
        assert changed(worktree.snapshot()) == []
        assert files_read == set()
        before = (checkout.path / "p/a.py").stat()
        checkout.write("p/a.py", "a = 2\n")
        os.utime(checkout.path / "p/a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
        assert changed(worktree.snapshot()) == ["modified p/a.py"]
        assert files_read == {b"a.py"}
        checkout.write("p/a.py", "a = 1\n")
        (checkout.path / "p/b.py").chmod(0o755)
        snapshot = worktree.snapshot()
        assert (changed(snapshot), snapshot.mode_only) == ([], ("p/b.py",))
