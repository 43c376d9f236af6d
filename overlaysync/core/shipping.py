"""Whether a new file would ship, by what ships at HEAD (design §7; judged there by real builds)."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import pathspec
from msgspec import Struct

from overlaysync.core.mapping import Shipped
from overlaysync.model.target import InstalledPath
from overlaysync.model.worktree import RepoPath, TreeEntry


class Ships(str, enum.Enum):
    YES = "ships"
    NO = "not packaged"
    UNPROVEN = "unproven"


class Shipping(Struct, frozen=True):
    """The answer for one new file; ``reason`` is a sentence, ``destination`` is set when it ships."""

    ships: Ships
    reason: str
    destination: InstalledPath | None = None


class ShippingRule:
    """What ships at HEAD, asked for new paths.

    Args:
        tree: HEAD's tree.
        shipped: the proven mapping of tracked files.
        present: paths in the worktree after the change (to see the ``__init__.py`` of new packages).
        ships, not_shipped: patterns of the configuration, which settle what is unproven.
    """

    def __init__(
        self,
        tree: Mapping[RepoPath, TreeEntry],
        shipped: Shipped,
        present: Collection[str],
        *,
        ships: Sequence[str] = (),
        not_shipped: Sequence[str] = (),
    ) -> None:
        self._shipped = shipped
        self._present = present
        self._forced = pathspec.GitIgnoreSpec.from_lines(ships)
        self._barred = pathspec.GitIgnoreSpec.from_lines(not_shipped)
        self._siblings: dict[tuple[str, str], list[RepoPath]] = defaultdict(list)
        self._files = [path for path, entry in tree.items() if entry.is_file]
        for path in self._files:
            directory, _, name = path.rpartition("/")
            self._siblings[directory, _extension(name)].append(path)

    def judge(self, path: RepoPath) -> Shipping:
        if self._barred.match_file(path):
            return Shipping(Ships.NO, "not-shipped in the configuration")
        if self._forced.match_file(path):
            destination = self._beside_nearest(path)
            if destination is None:
                return Shipping(Ships.UNPROVEN, "no directory above it ships, so its place is unknown")
            return Shipping(Ships.YES, "ships in the configuration", destination)
        return self._python(path) if path.endswith(".py") else self._data(path)

    def _python(self, path: RepoPath) -> Shipping:
        directory = path.rpartition("/")[0]
        siblings = self._siblings.get((directory, ".py"), [])
        if siblings:
            return self._by(path, siblings, f"the .py files tracked in {directory or 'the root'}")
        for ancestor in _directories_above(directory):
            known = self._siblings.get((ancestor, ".py"), [])
            if known and not self._ships_any(known):
                return Shipping(Ships.NO, f"no .py file of {ancestor or 'the root'} ships")
            if known:
                return self._new_package(path, ancestor)
        return Shipping(Ships.NO, "no directory above it ships Python files")

    def _new_package(self, path: RepoPath, ancestor: str) -> Shipping:
        directory = path.rpartition("/")[0]
        levels = [
            level for level in (directory, *_directories_above(directory)) if len(level) > len(ancestor)
        ]
        destination = self._place(path, ancestor, ".py")
        if all(f"{level}/__init__.py" in self._present for level in levels):
            return Shipping(Ships.YES, f"a new package in {ancestor}", destination)
        plain = self._directories_without_init(ancestor)
        if plain and all(self._ships_all(files) for files in plain):
            return Shipping(Ships.YES, "directories without __init__.py ship", destination)
        if plain and not any(self._ships_any(files) for files in plain):
            return Shipping(Ships.NO, "directories without __init__.py do not ship")
        return Shipping(
            Ships.UNPROVEN, f"{directory} has no __init__.py, and HEAD does not tell whether such ships"
        )

    def _data(self, path: RepoPath) -> Shipping:
        directory, _, name = path.rpartition("/")
        extension = _extension(name)
        for ancestor in (directory, *_directories_above(directory)):
            known = self._siblings.get((ancestor, extension), [])
            if known:
                return self._by(
                    path,
                    known,
                    f"the {extension or 'plain'} files tracked in {ancestor or 'the root'}",
                    ancestor,
                )
        if self._ships_all(self._files):
            return Shipping(Ships.YES, "everything tracked ships", self._beside_nearest(path))
        return Shipping(
            Ships.UNPROVEN, f"no tracked {extension or 'plain'} file above it tells whether such ship"
        )

    def _by(
        self, path: RepoPath, known: Sequence[RepoPath], what: str, ancestor: str | None = None
    ) -> Shipping:
        if not self._ships_any(known):
            return Shipping(Ships.NO, f"none of {what} ships")
        if not self._ships_all(known):
            return Shipping(Ships.UNPROVEN, f"only some of {what} ship")
        directory, _, name = path.rpartition("/")
        destination = self._place(path, directory if ancestor is None else ancestor, _extension(name))
        if destination is None:
            return Shipping(Ships.UNPROVEN, f"{what} are installed in more than one directory")
        return Shipping(Ships.YES, f"all of {what} ship", destination)

    def _place(self, path: RepoPath, ancestor: str, extension: str) -> InstalledPath | None:
        """The destination beside the tracked files of ``ancestor``; None when they lie in several places."""
        places = {
            destination.rpartition("/")[0]
            for sibling in self._siblings[ancestor, extension]
            if (destination := self._shipped.destination(sibling)) is not None
        }
        if len(places) != 1:
            return None
        return _join(places.pop(), path[len(ancestor) :].lstrip("/"))

    def _beside_nearest(self, path: RepoPath) -> InstalledPath | None:
        directory = path.rpartition("/")[0]
        for ancestor in (directory, *_directories_above(directory)):
            for place, extension in list(self._siblings):
                if place == ancestor and (destination := self._place(path, ancestor, extension)) is not None:
                    return destination
        return None

    def _ships_all(self, paths: Iterable[RepoPath]) -> bool:
        return all(path in self._shipped.destinations for path in paths)

    def _ships_any(self, paths: Iterable[RepoPath]) -> bool:
        return any(path in self._shipped.destinations for path in paths)

    def _directories_without_init(self, ancestor: str) -> list[list[RepoPath]]:
        """Tracked .py files by directory, below the top of the package that ``ancestor`` is in."""
        top = ancestor
        for directory in _directories_above(ancestor):
            if self._ships_any(self._siblings.get((directory, ".py"), [])):
                top = directory
        below = top + "/" if top else ""
        return [
            files
            for (directory, extension), files in self._siblings.items()
            if extension == ".py"
            and (directory + "/").startswith(below)
            and not any(path.endswith("/__init__.py") or path == "__init__.py" for path in files)
        ]


def _extension(name: str) -> str:
    stem, dot, extension = name.rpartition(".")
    return dot + extension if stem else ""


def _directories_above(directory: str) -> list[str]:
    """The directories above one, nearest first, the root ("") last; none above the root."""
    if not directory:
        return []
    parts = directory.split("/")[:-1]
    return ["/".join(parts[:depth]) for depth in range(len(parts), -1, -1)]


def _join(directory: str, rest: str) -> InstalledPath:
    return InstalledPath(f"{directory}/{rest}" if directory else rest)
