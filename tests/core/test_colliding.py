"""Destinations that differ from what is installed only in letter case."""

from __future__ import annotations

import pytest

from overlaysync.core.colliding import judge_letter_case
from overlaysync.core.planning import Desired
from overlaysync.model.classified import ChangeClass
from overlaysync.model.target import InstalledPath
from overlaysync.model.worktree import RepoPath, Sha256

INSTALLED = [
    InstalledPath(path) for path in ("p/_version.py", "p/models/tiny.py", "p/Lib/a.py", "p/lib/b.py")
]


def desired(path: str, *, removed: bool = False) -> Desired:
    sha256 = None if removed else Sha256("a" * 64)
    return Desired(RepoPath(f"src/{path}"), InstalledPath(path), ChangeClass.PYTHON, "added", None, sha256)


@pytest.mark.parametrize("path", ["p/_Version.py", "p/Models/new.py", "P/new.py", "p/models/TINY.py"])
def test_another_spelling(path: str) -> None:
    [problem] = judge_letter_case([desired(path)], INSTALLED)
    assert (problem.code, problem.path) == ("case-collision", f"src/{path}")


@pytest.mark.parametrize(
    "path", ["p/_version.py", "p/models/new.py", "p/Lib/new.py", "p/lib/new.py", "p/x/y.py"]
)
def test_the_same_spelling_or_none(path: str) -> None:
    """Where an image has both spellings of a directory, each may go on."""
    assert judge_letter_case([desired(path)], INSTALLED) == []


def test_what_is_removed_collides_with_nothing() -> None:
    assert judge_letter_case([desired("p/Models/new.py", removed=True)], INSTALLED) == []
