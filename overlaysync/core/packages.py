"""Directories of the repository that hold installed Python, as a manifest records them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from overlaysync.model.worktree import RepoPath

ROOT = "."


def is_in(path: RepoPath, place: RepoPath) -> bool:
    """Whether a file lies in or below a directory; of the root, only in it."""
    return path.startswith(f"{place}/") if place != ROOT else "/" not in path


def packages_of(tree: Collection[RepoPath], shipped: Iterable[RepoPath]) -> tuple[RepoPath, ...]:
    """Directories of the repository that hold installed Python, without those below another one."""
    paths = (path for path in shipped if path.endswith(".py") and path in tree)
    found: list[RepoPath] = []
    for directory in sorted({path.rpartition("/")[0] or ROOT for path in paths}):
        if not any(directory.startswith(f"{place}/") for place in found):
            found.append(RepoPath(directory))
    return tuple(found)


def unshipped_in(
    tree: Iterable[RepoPath], shipped: Collection[RepoPath], packages: Sequence[RepoPath]
) -> tuple[RepoPath, ...]:
    """Python in these directories that is not installed all the same."""
    return tuple(
        path
        for path in tree
        if path.endswith(".py") and path not in shipped and any(is_in(path, place) for place in packages)
    )
