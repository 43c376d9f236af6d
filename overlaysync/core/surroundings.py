"""What is tracked around a path, and which of it ships."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from overlaysync.core.mapping import Shipped
from overlaysync.model.target import InstalledPath
from overlaysync.model.worktree import RepoPath, TreeEntry


class Surroundings:
    """HEAD's files by directory and extension.

    Args:
        tree: HEAD's tree.
        shipped: the proven mapping of its files.
    """

    def __init__(self, tree: Mapping[RepoPath, TreeEntry], shipped: Shipped) -> None:
        self._tree, self._shipped = tree, shipped
        self._below: dict[str, list[RepoPath]] = {}  # of the directories that were asked for
        self._packages: dict[str, str | None] = {}

    @cached_property
    def _by_directory(self) -> dict[str, list[RepoPath]]:
        found: dict[str, list[RepoPath]] = defaultdict(list)
        for path, entry in self._tree.items():
            if entry.is_file:
                found[path.rpartition("/")[0]].append(path)
        return found

    @cached_property
    def _shipping_directories(self) -> set[str]:
        """Those of which files ship themselves."""
        shipping = (*self._shipped.destinations, *self._shipped.rivals)
        return {path.rpartition("/")[0] for path in shipping if path in self._tree}

    def beside(self, directory: str, extension: str | None = None) -> list[RepoPath]:
        """Tracked files of a directory itself, all or those of one extension."""
        return _of(self._by_directory.get(directory, []), extension)

    def below(self, directory: str, extension: str | None = None) -> list[RepoPath]:
        """Tracked files of a directory and all below it."""
        if directory not in self._below:
            start = f"{directory}/" if directory else ""
            self._below[directory] = [
                path
                for level, paths in self._by_directory.items()
                if level == directory or level.startswith(start)
                for path in paths
            ]
        return _of(self._below[directory], extension)

    def ships_all(self, paths: Iterable[RepoPath]) -> bool:
        return all(map(self._shipped.ships, paths))

    def ships_any(self, paths: Iterable[RepoPath]) -> bool:
        return any(map(self._shipped.ships, paths))

    def package_of(self, directory: str) -> str | None:
        """The outermost directory, at or above, of which files ship themselves; never the root."""
        if directory not in self._packages:
            above = self.package_of(parent(directory)) if directory else None
            itself = directory if directory and directory in self._shipping_directories else None
            self._packages[directory] = above or itself
        return self._packages[directory]

    def place(self, path: RepoPath, ancestor: str, known: Sequence[RepoPath]) -> InstalledPath | None:
        """Where a path below ``ancestor`` is installed if it keeps its place among the ``known`` files there.

        None where they are not installed as they lie, or in several places.
        """
        places = set()
        for sibling in known:
            destination = self._shipped.destination(sibling)
            if destination is not None:
                rest = "/" + sibling[len(ancestor) :].lstrip("/")
                if not f"/{destination}".endswith(rest):
                    return None
                places.add(f"/{destination}"[: -len(rest)].lstrip("/"))
        if len(places) != 1:
            return None
        directory, rest = places.pop(), path[len(ancestor) :].lstrip("/")
        return InstalledPath(f"{directory}/{rest}" if directory else rest)


def extension_of(path: str) -> str:
    """The last suffix of a file's name with its dot; empty if there is none."""
    stem, dot, extension = path.rpartition("/")[2].rpartition(".")
    return dot + extension if stem else ""


def parent(path: str) -> str:
    """The directory of a path; the root is ""."""
    return path.rpartition("/")[0]


def directories_above(directory: str) -> list[str]:
    """The directories above one, nearest first, the root ("") last; none above the root."""
    if not directory:
        return []
    parts = directory.split("/")[:-1]
    return ["/".join(parts[:depth]) for depth in range(len(parts), -1, -1)]


def _of(paths: list[RepoPath], extension: str | None) -> list[RepoPath]:
    return [path for path in paths if extension is None or extension_of(path) == extension]
