"""Which changes are for the overlay, which do not ship, and which stand in the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from overlaysync.core.counting import counted
from overlaysync.core.mapping import Shipped
from overlaysync.core.ownership import OURS
from overlaysync.core.patterns import Patterns, quoted_pattern
from overlaysync.core.planning import Desired
from overlaysync.core.shipping import Shipping, ShippingRule, Ships
from overlaysync.model.classified import ChangeClass, ClassifiedChange
from overlaysync.model.problem import Problem
from overlaysync.model.target import FileKind, InstalledFile, InstalledPath
from overlaysync.model.worktree import ChangeKind, RepoPath, TreeEntry

OVERLAID = (ChangeClass.PYTHON, ChangeClass.DATA, ChangeClass.BINDING, ChangeClass.JIT)
"""Classes whose files are copied; all others are refused where they matter."""

HARMLESS = (ChangeClass.OUTSIDE, ChangeClass.BUILD)
"""Without a problem of their own, such files are data where they ship (a Dockerfile among the templates)."""


FEW = 20
"""So many removals are ordinary work, whatever share of the package they are."""


IN_PACKAGES = ("lfs-pointer", "git-filter", "case-collision", "submodule-change")
"""Problems of reading that say nothing of a path outside of packages."""


class Selection(Struct, frozen=True):
    """The changes, sorted out.

    ``left_out`` holds unproven data: reported, never created. ``unrecorded``: tracked modules that do not
    ship by RECORD, with the place where they would be if they did; nothing may stand there.
    """

    desired: tuple[Desired, ...] = ()
    problems: tuple[Problem, ...] = ()
    not_packaged: tuple[RepoPath, ...] = ()
    left_out: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    unrecorded: tuple[tuple[RepoPath, InstalledPath], ...] = ()


class Selector:
    """Sorts classified changes by what ships at HEAD.

    Args:
        tree: HEAD's tree.
        shipped: the proven mapping.
        rule: the answer for new files.
        outside: RECORD entries that leave the install root, as written there.
        not_built: patterns of paths that no build reads.
    """

    def __init__(
        self,
        tree: Mapping[RepoPath, TreeEntry],
        shipped: Shipped,
        rule: ShippingRule,
        outside: Sequence[str],
        not_built: Sequence[str],
    ) -> None:
        self._shipped = shipped
        self._rule = rule
        self._installed_elsewhere = {entry.rpartition("/")[2] for entry in outside}
        self._not_built = Patterns(not_built)
        self._packages = {path.rpartition("/")[0] for path in shipped.destinations if path in tree}

    def select(self, classified: Sequence[ClassifiedChange], unreadable: Sequence[Problem]) -> Selection:
        """``unreadable``: problems that reading the worktree met, for paths that may not be packaged."""
        parts = [self._sort(item) for item in classified]
        kept = [item for item in unreadable if self._matters(item)]
        desired = tuple(item for part in parts for item in part.desired)
        return Selection(
            desired=desired,
            problems=(*kept, *(item for part in parts for item in part.problems), *_collisions(desired)),
            not_packaged=tuple(item for part in parts for item in part.not_packaged),
            left_out=tuple(item for part in parts for item in part.left_out),
            unrecorded=tuple(item for part in parts for item in part.unrecorded),
            notes=tuple(
                f"{item.change.path}: {item.note}"
                for item in classified
                if item.note and item.change_class not in OVERLAID
            ),
        )

    def _sort(self, item: ClassifiedChange) -> Selection:
        path = item.change.path
        if item.change_class in OVERLAID:
            return self._overlaid(item)
        if self._shipped.ships(path) and not item.problems:
            if item.change_class in HARMLESS:
                return self._overlaid(structs.replace(item, change_class=ChangeClass.DATA))
            return self._ships_unexpectedly(item)
        if item.change_class is ChangeClass.LINK and not self.in_package(path):
            return Selection(not_packaged=(path,))
        if item.problems:
            return Selection(problems=item.problems)
        return Selection(not_packaged=(path,))

    def _overlaid(self, item: ClassifiedChange) -> Selection:
        change = item.change
        path = change.path
        if any(part.startswith(OURS) for part in path.split("/")):
            message = f"{path} has a name that this tool keeps for its own files in the target"
            return Selection(problems=(Problem("unsafe-name", message, "rename it", path),))
        if places := self._shipped.ambiguous(path):
            message = f"{path} is installed at more than one place: {', '.join(places)}"
            return _ambiguous(path, message, "rebuild the image; an overlay is for one of them")
        if rivals := self._shipped.rivals.get(path):
            message = f"what is installed can come from {path} or from {', '.join(rivals)}"
            next_step = f"say which no build ships: not-shipped = [{quoted_pattern(rivals[0])}]"
            return _ambiguous(path, message, next_step)
        destination = self._shipped.destination(path)
        cause = change.kind.value
        if item.note and change.kind is ChangeKind.MODIFIED:
            cause += f" ({item.note})"
        if change.head is None or destination is None:
            shipping = self._rule.judge(path) if change.head is None else None
            if shipping is None or shipping.ships is not Ships.YES or shipping.destination is None:
                return self._without_place(item, shipping)
            destination = shipping.destination
            cause += f": {shipping.reason}"
        elif change.content is None and (reason := self._rule.unmakes_package(path)) is not None:
            line = f"ships = [{quoted_pattern(path)}]"
            next_step = f"keep it, if empty; or say that the rest ships all the same: {line}"
            return Selection(problems=(Problem("unproven-shipping", reason, next_step, path),))
        return Selection(
            desired=(
                Desired(
                    source=path,
                    destination=destination,
                    change_class=item.change_class,
                    cause=cause,
                    head=change.head.oid if change.head is not None else None,
                    sha256=change.content.sha256 if change.content is not None else None,
                    blob=change.content.blob if change.content is not None else None,
                    size=change.content.size if change.content is not None else 0,
                ),
            ),
            problems=item.problems,
        )

    def _without_place(self, item: ClassifiedChange, shipping: Shipping | None) -> Selection:
        """What is not installed, or not for certain. ``shipping`` is the answer for a new file."""
        path = item.change.path
        if item.change_class is ChangeClass.JIT and not path.endswith(".py"):
            return Selection(problems=item.problems)  # no run time can compile it, so it is a build's input
        if shipping is None:
            return self._unshipped(path)
        if shipping.ships is Ships.NO:
            return Selection(not_packaged=(path,))
        message = f"whether a build would ship {path} is not proven: {shipping.reason}"
        next_step = f"settle it: ships = [{quoted_pattern(path)}] or not-shipped"
        problem = Problem("unproven-shipping", message, next_step, path)
        return Selection(problems=(problem,)) if path.endswith(".py") else Selection(left_out=(problem,))

    def _unshipped(self, path: RepoPath) -> Selection:
        place = self._rule.place_near(path) if path.endswith(".py") and self.in_package(path) else None
        if place is not None:
            return Selection(not_packaged=(path,), unrecorded=((path, place),))
        if path.rpartition("/")[2] not in self._installed_elsewhere or self._not_built.match(path):
            return Selection(not_packaged=(path,))
        message = f"{path} seems to be installed outside the package (RECORD lists a file of this name there)"
        return Selection(problems=(Problem("outside-package", message, "rebuild the image", path),))

    def _ships_unexpectedly(self, item: ClassifiedChange) -> Selection:
        path = item.change.path
        message = f"{path} is of class {item.change_class.value}, but the distribution ships it"
        return Selection(problems=(Problem("build-change", message, "rebuild the image", path),))

    def in_package(self, path: RepoPath) -> bool:
        """Whether the path lies in, or below, a directory of which files ship (the root only itself)."""
        directory = path.rpartition("/")[0]
        while directory:
            if directory in self._packages:
                return True
            directory = directory.rpartition("/")[0]
        return "/" not in path and "" in self._packages

    def _matters(self, problem: Problem) -> bool:
        """What cannot be read may be read by a build anywhere; what is only odd matters in packages."""
        if problem.path is None or self.in_package(RepoPath(problem.path)):
            return True
        return problem.code not in IN_PACKAGES and not self._not_built.match(problem.path)


def _ambiguous(path: RepoPath, message: str, next_step: str) -> Selection:
    return Selection(problems=(Problem("ambiguous-mapping", message, next_step, path),))


def _collisions(desired: Sequence[Desired]) -> list[Problem]:
    """Two changes for one installed path: nothing says which of them a build would take."""
    by_destination: dict[InstalledPath, list[RepoPath]] = {}
    for item in desired:
        by_destination.setdefault(item.destination, []).append(item.source)
    return [
        Problem(
            "ambiguous-mapping",
            f"{' and '.join(sources)} both belong at {destination}",
            "rebuild the image, or take all but one of the changes back",
            sources[0],
        )
        for destination, sources in by_destination.items()
        if len(sources) > 1
    ]


def judge_plausible(desired: Sequence[Desired], shipped: int) -> list[Problem]:
    """An emptied checkout looks like the removal of everything; that is asked about, not carried out."""
    added = sum(item.head is None for item in desired)
    removed = sum(item.sha256 is None for item in desired) - added
    if removed == 0 or (removed < shipped and (removed <= FEW or removed * 2 <= shipped)):
        return []
    files = counted(shipped, "installed file is", "installed files are")
    message = f"{removed} of {files} missing in the worktree"
    next_step = "look at what is gone: git status; or, if it is meant: --acknowledge removals"
    return [Problem("many-removals", message, next_step)]


def looked_at(selection: Selection) -> dict[InstalledPath, RepoPath]:
    """Where something may stand that is imported as an unrecorded module: its source, or bytecode alone."""
    return {
        InstalledPath(place + suffix): path for path, place in selection.unrecorded for suffix in ("", "c")
    }


def unrecorded_problem(path: RepoPath, place: InstalledPath, found: InstalledFile) -> Problem | None:
    """A tracked module that RECORD does not list, and that is in the target all the same, in any form."""
    if found.twins:
        message = f"{path} is in the target in compiled form only: {', '.join(found.twins)}"
        return Problem("compiled-twin", message, "rebuild the image: the module is compiled", path)
    if found.kind is FileKind.MISSING:
        return None
    if place.endswith(".pyc"):
        message = f"{place} is in the target without its source, so that its original cannot be told: {path}"
        next_step = "build the image with its sources, or rebuild it for this change"
        return Problem("original-differs", message, next_step, path)
    message = f"{place} is in the target, but RECORD does not list it, so where {path} belongs is not proven"
    next_step = "reinstall the distribution in the image, so that its RECORD is whole"
    return Problem("ambiguous-mapping", message, next_step, path)
