"""A worktree that is written to all the time is taken as it was at one moment."""

from __future__ import annotations

import hashlib
import itertools
import threading
from pathlib import Path

import pytest

from overlaysync.errors import WorktreeChangedError
from overlaysync.worktree.worktree import open_worktree
from tests.parts.repositories import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "repository")
    repository.write("a.py", "A = 1\n")
    repository.write("b.py", "B = 1\n")
    repository.commit()
    repository.write("a.py", "A = 2\n" * 100_000)
    repository.write("b.py", "B = 2\n")
    repository.write("empty.py", "")
    return repository


def test_what_was_captured_is_what_is_given(repository: Repository) -> None:
    with open_worktree(repository.path, capture=True) as worktree:
        changes = worktree.snapshot().changes
        for name in ("a.py", "b.py", "empty.py"):
            (repository.path / name).unlink()
        assert [len(worktree.content(change)) for change in changes] == [600_000, 6, 0]
        assert max(len(piece) for piece in worktree.stream(changes[0])) <= 256 * 1024
        again = worktree.snapshot()
        assert [change.content for change in again.changes] == [None, None]


def test_without_it_a_later_change_is_told(repository: Repository) -> None:
    with open_worktree(repository.path) as worktree:
        changes = worktree.snapshot().changes
        repository.write("b.py", "B = 3\n")
        with pytest.raises(WorktreeChangedError):
            worktree.content(changes[1])


def test_nothing_of_an_earlier_moment_stands_for_a_later_one(repository: Repository) -> None:
    """One file never rests, so that no look is taken whole: then what is given is checked at its digest."""
    ended = threading.Event()

    def write() -> None:
        for number in itertools.count():
            if ended.is_set():
                return
            repository.write("b.py", f"B = {number}\n" * 50_000)
            repository.write("a.py", f"A = {number}\n")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with open_worktree(repository.path, capture=True) as worktree:
            for _ in range(5):
                for change in worktree.snapshot().changes:
                    try:
                        given = worktree.content(change)
                    except WorktreeChangedError:
                        continue
                    assert change.content is not None
                    assert hashlib.sha256(given).hexdigest() == change.content.sha256
    finally:
        ended.set()
        writer.join()
