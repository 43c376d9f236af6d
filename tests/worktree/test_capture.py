"""A worktree that is written to all the time is taken as it was at one moment."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

import pytest

from overlaysync.errors import WorktreeChangedError
from overlaysync.model.worktree import RepoPath
from overlaysync.worktree.capture import Capture
from overlaysync.worktree.git import Git
from overlaysync.worktree.objects import Objects
from overlaysync.worktree.worktree import Worktree, open_worktree
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


class Disturbed(Capture):
    """While the second file is taken, both are written again."""

    def __init__(self, repository: Repository) -> None:
        super().__init__()
        self._repository, self._numbers = repository, itertools.count(3)

    def keep(self, path: RepoPath, pieces: Iterable[bytes]) -> None:
        if path == "b.py":
            number = next(self._numbers)
            for name in ("a.py", "b.py"):
                self._repository.write(name, f"N = {number}\n")
        super().keep(path, pieces)


def test_nothing_of_an_earlier_moment_stands_for_a_later_one(repository: Repository) -> None:
    """Where no look can be taken whole, what was taken of one is given for no other."""
    with open_worktree(repository.path) as opened:
        git = Git(opened.repository.root)
        objects = Objects(git, opened.repository.object_format)
        with Worktree(opened.repository, git, objects, None, Disturbed(repository)) as worktree:
            first = worktree.snapshot().changes[0]
            with pytest.raises(WorktreeChangedError):
                worktree.content(first)
