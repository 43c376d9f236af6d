"""A small checkout to change, and what the floor sees of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from overlaysync.model.worktree import Snapshot
from overlaysync.worktree.worktree import open_worktree
from tests.parts.repositories import Repository

Seen = Callable[[], Snapshot]


@pytest.fixture
def checkout(tmp_path: Path) -> Repository:
    """A repository with a package of three files."""
    repository = Repository(tmp_path / "checkout")
    repository.write("p/__init__.py", "")
    repository.write("p/a.py", "a = 1\n")
    repository.write("p/b.py", "b = 1\n")
    repository.commit()
    return repository


@pytest.fixture
def see(checkout: Repository) -> Seen:
    """A snapshot of the checkout, by a worktree opened for it."""

    def snapshot() -> Snapshot:
        with open_worktree(checkout.path) as worktree:
            return worktree.snapshot()

    return snapshot
