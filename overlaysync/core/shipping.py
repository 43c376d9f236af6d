"""Whether a new file would ship, by what ships at HEAD (design §7; judged there by real builds)."""

from __future__ import annotations

import enum
import functools
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from overlaysync.core.backends import Whole
from overlaysync.core.mapping import Shipped
from overlaysync.core.patterns import Patterns
from overlaysync.core.setuptools_selection import Selection
from overlaysync.core.surroundings import Surroundings, directories_above, extension_of, parent
from overlaysync.model.target import InstalledPath
from overlaysync.model.worktree import RepoPath, TreeEntry

EVERYTHING = Selection()


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
        whole: what the backend ships of a package without being told.
        selection: what a build file selects by name.
        excluded: patterns by which a build leaves files out.
    """

    def __init__(
        self,
        tree: Mapping[RepoPath, TreeEntry],
        shipped: Shipped,
        present: Collection[str],
        *,
        ships: Sequence[str] = (),
        not_shipped: Sequence[str] = (),
        whole: Whole = Whole.NOTHING,
        selection: Selection = EVERYTHING,
        excluded: Sequence[str] = (),
    ) -> None:
        self._tree, self._shipped = tree, shipped
        self._present = present
        self._forced = Patterns(ships)
        self._barred = Patterns(not_shipped)
        self._ships_whole = whole
        self._selection = selection
        self._excluded = Patterns(excluded)
        self._destinations = [place for places in shipped.destinations.values() for place in places]

    @functools.cached_property
    def _around(self) -> Surroundings:
        return Surroundings(self._tree, self._shipped)  # which nothing but a new file asks for

    def judge(self, path: RepoPath) -> Shipping:
        """Whether a new path would ship."""
        if self._barred.match(path):
            return Shipping(Ships.NO, "not-shipped in the configuration")
        if self._forced.match(path):
            destination = self.place_near(path)
            if destination is None:
                return Shipping(Ships.UNPROVEN, "no directory above it ships, so its place is unknown")
            return Shipping(Ships.YES, "ships in the configuration", destination)
        shipping = self._by_head(path)
        place = shipping.destination
        if place is not None and any(map(self._excluded.match, (path, place))):
            return Shipping(Ships.UNPROVEN, "a pattern in pyproject.toml by which files are left out fits it")
        if place is None or self._selection.takes(place) or not self._selection_explains(extension_of(path)):
            return shipping
        answer = Ships.UNPROVEN if self._selection.more else Ships.NO
        return Shipping(answer, f"{place} is not among what the build files select")

    def _selection_explains(self, extension: str) -> bool:
        """Whether HEAD's files of an extension that ship are what is selected: else it is not all of it."""
        same = [place for place in self._destinations if extension_of(place) == extension]
        return all(map(self._selection.takes, same))

    def _by_head(self, path: RepoPath) -> Shipping:
        shipping = self._python(path) if path.endswith(".py") else self._data(path)
        if shipping.ships is Ships.UNPROVEN and (package := self._whole(path)) is not None:
            known = self._around.below(package)
            return self._placed(
                path, package, known, f"the backend ships all {self._ships_whole.value} of {package}"
            )
        return shipping

    def unmakes_package(self, path: RepoPath) -> str | None:
        """Why the removal of a path that ships may take more out of a build; None where it cannot."""
        directory = parent(path)
        settled = self._forced.match(path) or self._whole(path) is not None
        if settled or not path.endswith("/__init__.py"):
            return None
        rest = [other for other in self._around.below(directory) if other in self._present and other != path]
        plain = self._directories_without_init(directory, besides=directory)
        if not self._around.ships_any(rest) or (plain and all(map(self._around.ships_all, plain))):
            return None
        return f"without {path} a build may leave out the rest of {directory}"

    def _whole(self, path: RepoPath) -> str | None:
        """The package that the backend ships whole and that the path lies in, if HEAD agrees."""
        kinds = (Whole.FILES,) if path.endswith(".py") else (Whole.FILES, Whole.DATA)
        package = self._around.package_of(parent(path)) if self._ships_whole in kinds else None
        return package if package and self._around.ships_all(self._around.below(package)) else None

    def _python(self, path: RepoPath) -> Shipping:
        directory = parent(path)
        if path.endswith("/__init__.py") and (more := self._unshipped_in(directory)):
            return Shipping(Ships.UNPROVEN, f"with it a build may ship {more[0]} too, which it did not")
        siblings = self._around.beside(directory, ".py")
        if siblings:
            return self._by(path, directory, siblings, f"the .py files tracked in {directory or 'the root'}")
        if self._may_be_found(path):
            return Shipping(Ships.UNPROVEN, "it begins a package at the top, which setuptools may find")
        for ancestor in directories_above(directory):
            known = self._around.beside(ancestor, ".py")
            if known and not self._around.ships_any(known):
                return Shipping(Ships.NO, f"no .py file of {ancestor or 'the root'} ships")
            if known:
                return self._new_package(path, ancestor)
        return Shipping(Ships.NO, "no directory above it ships Python files")

    def _may_be_found(self, path: RepoPath) -> bool:
        """Whether a new package at the top is what setuptools looks for; nothing at HEAD is like it.

        Where HEAD has Python that it would find, and that does not ship, that is not all that decides.
        """
        roots = [pair.source for pair in self._shipped.pairs if not pair.installed]
        for root in roots if self._selection.finds else ():
            place = self._found(path, root)
            if place is not None:
                top = path.removesuffix(place) + place.partition("/")[0]
                tracked = self._around.below(root, ".py")
                unshipped = (other for other in tracked if not self._around.ships_any([other]))
                is_new = not self._around.below(top, ".py")
                return is_new and all(self._found(other, root) is None for other in unshipped)
        return False

    def _found(self, path: RepoPath, root: str) -> InstalledPath | None:
        """Where setuptools would install a file of a package that it finds in a directory; else None."""
        start = f"{root}/" if root else ""
        place = InstalledPath(path.removeprefix(start))
        top, is_below, _ = place.partition("/")
        is_package = self._selection.namespaces or f"{start}{top}/__init__.py" in self._present
        is_found = path.startswith(start) and is_below and is_package and self._selection.takes(place)
        return place if is_found else None

    def _unshipped_in(self, directory: str) -> list[RepoPath]:
        """Files of a directory inside a package that do not ship, though others of their extension do."""
        package = self._around.package_of(directory)
        if package is None:
            return []
        return [
            path
            for path in self._around.below(directory)
            if not self._around.ships_any([path])
            and self._around.ships_any(self._around.below(package, extension_of(path)))
        ]

    def _new_package(self, path: RepoPath, ancestor: str) -> Shipping:
        directory = parent(path)
        levels = [level for level in (directory, *directories_above(directory)) if len(level) > len(ancestor)]
        known = self._around.beside(ancestor, ".py")
        if all(f"{level}/__init__.py" in self._present for level in levels):
            return self._placed(path, ancestor, known, f"a new package in {ancestor}")
        plain = self._directories_without_init(ancestor)
        if plain and all(map(self._around.ships_all, plain)):
            return self._placed(path, ancestor, known, "directories without __init__.py ship")
        if plain and not any(map(self._around.ships_any, plain)):
            return Shipping(Ships.NO, "directories without __init__.py do not ship")
        return Shipping(
            Ships.UNPROVEN, f"{directory} has no __init__.py, and HEAD does not tell whether such ships"
        )

    def _data(self, path: RepoPath) -> Shipping:
        directory, extension = parent(path), extension_of(path)
        what = f"the {extension or 'plain'} files tracked in"
        siblings = self._around.beside(directory, extension)
        if siblings:
            return self._by(path, directory, siblings, f"{what} {directory or 'the root'}")
        if self._around.package_of(directory) is None:
            return Shipping(Ships.NO, "no directory above it ships files")
        for ancestor in directories_above(directory):
            known = self._around.below(ancestor, extension)
            if known and self._around.package_of(ancestor) is not None:
                return self._in_new_directory(path, ancestor, known, f"{what} or below {ancestor}")
        return Shipping(
            Ships.UNPROVEN, f"no tracked {extension or 'plain'} file of its package tells whether such ship"
        )

    def _in_new_directory(
        self, path: RepoPath, ancestor: str, known: Sequence[RepoPath], what: str
    ) -> Shipping:
        """By files in other directories, of which two must be alike: one might be listed by its name."""
        is_package = self._is_package(parent(path))
        alike = {parent(other) for other in known if self._is_package(parent(other)) is is_package}
        if self._around.ships_all(known) and len(alike) < 2:
            kind = "a package" if is_package else "no package"
            return Shipping(
                Ships.UNPROVEN, f"{parent(path)} is {kind} and holds the first such file of its kind"
            )
        return self._by(path, ancestor, known, what)

    def _by(self, path: RepoPath, ancestor: str, known: Sequence[RepoPath], what: str) -> Shipping:
        if not self._around.ships_any(known):
            return Shipping(Ships.NO, f"none of {what} ships")
        if not self._around.ships_all(known):
            return Shipping(Ships.UNPROVEN, f"only some of {what} ship")
        return self._placed(path, ancestor, known, f"all of {what} ship")

    def _placed(self, path: RepoPath, ancestor: str, known: Sequence[RepoPath], reason: str) -> Shipping:
        destination = self._around.place(path, ancestor, known)
        if destination is None:
            where = ancestor or "the root"
            return Shipping(Ships.UNPROVEN, f"the files of {where} are installed in more than one directory")
        return Shipping(Ships.YES, reason, destination)

    def place_near(self, path: RepoPath) -> InstalledPath | None:
        """Where a path would be installed by what ships beside it, or else by what ships above; or None."""
        directory = parent(path)
        places = (
            self._around.place(path, ancestor, self._around.beside(ancestor))
            for ancestor in (directory, *directories_above(directory))
        )
        return next((place for place in places if place is not None), None)

    def _is_package(self, directory: str) -> bool:
        return f"{directory}/__init__.py" in self._present

    def _directories_without_init(
        self, directory: str, *, besides: str | None = None
    ) -> list[list[RepoPath]]:
        """Tracked .py files of each directory without an ``__init__.py``, in the package of ``directory``."""
        top = self._around.package_of(directory) or directory
        found: dict[str, list[RepoPath]] = {}
        for path in self._around.below(top, ".py"):
            found.setdefault(parent(path), []).append(path)
        return [
            files
            for level, files in found.items()
            if level != besides and not any(path.rpartition("/")[2] == "__init__.py" for path in files)
        ]
