"""Paths that differ only in letter case: one file on some file systems, two on others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from overlaysync.model.problem import Problem
from overlaysync.model.worktree import Change, ChangeKind, RepoPath, TreeEntry


def collisions(tree: Mapping[RepoPath, TreeEntry], changes: Iterable[Change]) -> list[Problem]:
    """A problem for each changed path that equals another but for letter case.

    A removed path collides with nothing, but an added one collides with it: that is a rename of case only.
    """
    present = [change for change in changes if change.kind is not ChangeKind.REMOVED]
    spellings: dict[str, set[RepoPath]] = {change.path.casefold(): {change.path} for change in present}
    if not spellings:
        return []
    removed = {change.path for change in changes if change.kind is ChangeKind.REMOVED}
    for path in (*tree, *(change.path for change in present)):
        if (folded := path.casefold()) in spellings:
            spellings[folded].add(path)
    problems = []
    for change in present:
        others = spellings[change.path.casefold()] - {change.path}
        if change.kind is not ChangeKind.ADDED:
            others -= removed
        problems += [_problem(change.path, min(others))] if others else []
    return problems


def _problem(path: RepoPath, other: RepoPath) -> Problem:
    return Problem(
        "case-collision",
        f"{path!r} differs from {other!r} only in letter case",
        "give it another name, or rebuild the image with it",
        path,
    )
