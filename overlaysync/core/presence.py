"""What only a commit has, what only the target has, and what the target has more than once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from overlaysync.core.backends import Whole
from overlaysync.core.finding import listed
from overlaysync.core.mapping import Shipped
from overlaysync.core.path_kind import is_startup_hook
from overlaysync.core.surroundings import Surroundings, extension_of, parent
from overlaysync.model.plan import Placement
from overlaysync.model.target import FileKind, InstalledFile, InstalledPath
from overlaysync.model.worktree import Change, RepoPath, TreeEntry


class Absent(Struct, frozen=True):
    """Tracked files of the package that are not installed: left out by the build, or expected and missing."""

    not_packaged: tuple[RepoPath, ...] = ()
    missing: tuple[str, ...] = ()


def absent(
    tree: Mapping[RepoPath, TreeEntry],
    shipped: Shipped,
    files: Sequence[InstalledFile],
    whole: Whole,
    overlay: Mapping[InstalledPath, Placement],
) -> Absent:
    """Compares the image's commit with what is installed, but for what an overlay put there, or took away.

    A file is expected where RECORD lists it, where the backend ships all of its kind, or where all others of
    its kind are installed, beside it or in the package.
    """
    around = Surroundings(tree, shipped)
    missing, not_packaged = _gone(tree, shipped, files, overlay), []
    ours = {placement.source for placement in overlay.values()}
    for path in [path for path in tree if path not in shipped.destinations and path not in ours]:
        is_hook, package = is_startup_hook(path), around.package_of(parent(path))
        if (package is None and not is_hook) or not tree[path].is_file or shipped.ships(path):
            continue
        if is_hook or package is None:
            missing[path] = "a start-up hook, which the image does not have"
        elif (reason := _expected(path, package, around, whole)) is not None:
            missing[path] = f"not in the image, though {reason}"
        else:
            not_packaged.append(path)
    told = tuple(f"{path}: {missing[path]}" for path in tree if path in missing) if missing else ()
    return Absent(tuple(not_packaged), told)


def _gone(
    tree: Iterable[RepoPath],
    shipped: Shipped,
    files: Sequence[InstalledFile],
    overlay: Iterable[InstalledPath],
) -> dict[RepoPath, str]:
    """Of what RECORD lists, and is not there, the source and what to tell of it."""
    gone = {file.path for file in files if file.kind is FileKind.MISSING}.difference(overlay)
    found = {}
    for path in tree if gone else ():
        if places := [place for place in shipped.destinations.get(path, ()) if place in gone]:
            found[path] = f"RECORD lists {', '.join(places)}, and it is not there"
    return found


def _expected(path: RepoPath, package: str, around: Surroundings, whole: Whole) -> str | None:
    extension, directory = extension_of(path), parent(path)
    if whole is Whole.FILES or (whole is Whole.DATA and extension != ".py"):
        return f"the backend ships all {whole.value} of {package}"
    for place, alike in (
        (directory, around.beside(directory, extension)),
        (package, around.below(package, extension)),
    ):
        others = [other for other in alike if other != path]
        if others:
            return f"all other {extension} files of {place} are" if around.ships_all(others) else None
    return None


def generated(
    files: Iterable[InstalledFile], shipped: Shipped, overlay: Mapping[InstalledPath, Placement]
) -> list[InstalledPath]:
    """Installed files that come from no tracked source: the build made them, and they are left alone."""
    known = {place for places in shipped.destinations.values() for place in places} | overlay.keys()
    return [file.path for file in files if file.path not in known and file.kind is FileKind.FILE]


def copies(files: Sequence[InstalledFile], overlay: Iterable[Placement]) -> list[str]:
    """Other installed files with the content that an overlay replaced or removed (wheels hold no links)."""
    placements = {item.destination: item for item in overlay}
    originals = {item.original_sha256 for item in placements.values()}
    holders: dict[str | None, list[InstalledFile]] = defaultdict(list)
    for file in files:
        if file.size > 0 and file.sha256 in originals and not _ours(file, placements):
            holders[file.sha256].append(file)
    notes = []
    for place, item in placements.items():
        original = item.original_sha256
        if original is None or original == item.installed_sha256:
            continue
        same = [file.path for file in holders.get(original, ()) if file.path != place]
        if same:
            notes.append(f"{place}: the same content stays old in {listed(same)}")
    return [*notes, *_copied_directories(files, placements)]


def _copied_directories(
    files: Sequence[InstalledFile], placements: Mapping[InstalledPath, Placement]
) -> list[str]:
    """Directories that hold all that stands beside an added file: copies of its directory do not get it."""
    if all(item.original_sha256 is not None for item in placements.values()):
        return []
    holders: dict[tuple[str, str | None], set[str]] = defaultdict(set)
    beside: dict[str, set[tuple[str, str | None]]] = defaultdict(set)
    for file in files:
        if file.size > 0:
            item = placements.get(file.path)
            directory, _, name = file.path.rpartition("/")
            content = (name, item.original_sha256 if item is not None else file.sha256)
            holders[content].add(directory)
            beside[directory].add(content)
    notes = []
    for place, item in placements.items():
        siblings = beside[parent(place)]
        if item.original_sha256 is None and siblings:
            same = set.intersection(*(holders[content] for content in siblings)) - {parent(place)}
            if same:
                notes.append(f"{place}: added here only; copies of its directory: {listed(sorted(same))}")
    return notes


def copies_of_unpackaged(
    files: Sequence[InstalledFile], changes: Iterable[Change], not_packaged: Iterable[RepoPath]
) -> list[str]:
    """Installed files with HEAD's content of a changed file that is not installed: a link led to it."""
    unpackaged, notes = set(not_packaged), []
    for change in changes:
        if change.path in unpackaged and change.head is not None and change.head.is_file:
            same = [file.path for file in files if file.blob == change.head.oid and file.size > 0]
            if same:
                notes.append(f"{change.path}: not packaged, but the same content stays old in {listed(same)}")
    return notes


def _ours(file: InstalledFile, placements: Mapping[InstalledPath, Placement]) -> bool:
    item = placements.get(file.path)
    return item is not None and item.installed_sha256 != file.sha256
