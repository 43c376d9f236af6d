"""From worktree path to installed path: proven by content, never guessed (design §7).

Installed files whose content is a blob of HEAD show which source directory was installed where (a *root
pair*). Every installed path then has at most one source: the one given by the pair with most proof.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from overlaysync.core.patterns import Patterns
from overlaysync.model.plan import Placement
from overlaysync.model.target import FileKind, InstalledFile, InstalledPath
from overlaysync.model.worktree import RepoPath, TreeEntry

COMMON = 8
"""Content that more tracked files than this share (a licence's header alone) proves no source directory."""

CREDIBLE, FEWEST = 0.5, 2
"""A lesser pair counts for files of other content only when at least this share, and this many, are equal."""


class RootPair(Struct, frozen=True):
    """``source`` directory of the repository, installed as ``installed`` directory ("" for either's root)."""

    source: str
    installed: str


class Shipped(Struct, frozen=True):
    """What of the tree is installed, and where.

    ``pairs``: with the number of files that prove each. ``rivals``: tracked files of which nothing tells
    which one is installed, each with the others.
    """

    pairs: dict[RootPair, int] = field(default_factory=dict)
    destinations: dict[RepoPath, tuple[InstalledPath, ...]] = field(default_factory=dict)
    rivals: dict[RepoPath, tuple[RepoPath, ...]] = field(default_factory=dict)

    def destination(self, path: RepoPath) -> InstalledPath | None:
        """Where a tracked path is installed; None when it does not ship, or not at one place for certain."""
        places = self.destinations.get(path, ())
        return places[0] if len(places) == 1 and path not in self.rivals else None

    def ships(self, path: RepoPath) -> bool:
        """Whether a tracked path is installed at all, as far as is known."""
        return path in self.destinations or path in self.rivals

    def ambiguous(self, path: RepoPath) -> tuple[InstalledPath, ...]:
        places = self.destinations.get(path, ())
        return places if len(places) > 1 else ()


def prove(
    tree: Mapping[RepoPath, TreeEntry],
    files: Sequence[InstalledFile],
    overlay: Mapping[InstalledPath, Placement] | None = None,
    *,
    not_shipped: Sequence[str] = (),
) -> Shipped:
    """Which tracked files ship, and where to.

    Args:
        files: RECORD's, without those of the dist-info.
        overlay: what the last manifest put there; where it stands, its source was proven before.
        not_shipped: patterns of the configuration; of two rivals, the one that they match is none.
    """
    proofs = _proofs(tree, files, overlay or {})
    votes = _votes(proofs) or _votes_by_path(tree, files)
    if len(votes) == 1:
        [pair] = votes
        return Shipped(dict(votes), _by_one_pair(tree, files, pair))
    candidates = _candidates(tree, files, votes)
    main = _main_pairs(votes)
    trusted = main | _credible_pairs(main, candidates, proofs, files)
    barred = Patterns(not_shipped)
    assigned: dict[RepoPath, list[tuple[RootPair, InstalledPath]]] = defaultdict(list)
    rivals: dict[RepoPath, tuple[RepoPath, ...]] = {}
    for installed, options in candidates.items():
        if len(options) == 1:  # so it is with by far the most
            [(pair, path)] = options
            if pair in trusted or path in proofs[installed]:
                assigned[path].append((pair, installed))
            continue
        fitting = [item for item in options if item[0] in trusted or item[1] in proofs[installed]]
        best = [item for item in fitting if _equal(item[0], fitting[0][0], votes)]
        left = best if len(best) == 1 else [item for item in best if not barred.match(item[1])] or best
        for pair, path in left[:1]:
            assigned[path].append((pair, installed))
        sources = [path for _, path in left]
        rivals |= {path: tuple(other for other in sources if other != path) for path in sources if left[1:]}
    return Shipped(
        pairs=dict(votes),
        destinations={path: _places(found, main) for path, found in assigned.items()},
        rivals=rivals,
    )


def _by_one_pair(
    tree: Mapping[RepoPath, TreeEntry], files: Sequence[InstalledFile], pair: RootPair
) -> dict[RepoPath, tuple[InstalledPath, ...]]:
    """Destinations where there is no other pair: no file has two sources then, nor a source two files."""
    source, installed = (f"{root}/" if root else "" for root in (pair.source, pair.installed))
    pairs = (
        (RepoPath(source + file.path[len(installed) :]), file.path)
        for file in files
        if file.path.startswith(installed)
    )
    return {
        path: (place,) for path, place in pairs if (entry := tree.get(path)) is not None and entry.is_file
    }


def _proofs(
    tree: Mapping[RepoPath, TreeEntry],
    files: Sequence[InstalledFile],
    overlay: Mapping[InstalledPath, Placement],
) -> dict[InstalledPath, Sequence[RepoPath]]:
    """The tracked files that each installed file can come from by its content. Empty ones prove nothing."""
    holders: dict[str, list[RepoPath]] = {file.blob: [] for file in files if file.blob is not None}
    for path, entry in tree.items():
        if entry.oid in holders and entry.is_file:
            holders[entry.oid].append(path)
    proofs: dict[InstalledPath, Sequence[RepoPath]] = {}
    for file in files:
        placement = overlay.get(file.path)
        if placement is not None and placement.installed_sha256 == file.sha256:
            proofs[file.path] = [placement.source] if placement.source in tree else []
        else:
            proofs[file.path] = holders.get(file.blob or "", []) if file.size else []
    return proofs


def _votes(proofs: Mapping[InstalledPath, Sequence[RepoPath]]) -> Counter[RootPair]:
    """Pairs by the number of installed files that prove them by their content."""
    directories: Counter[tuple[str, str]] = Counter()  # files of one name in these two
    for installed, sources in proofs.items():
        place, _, name = installed.rpartition("/")
        for source in sources if len(sources) <= COMMON else ():
            origin, _, source_name = source.rpartition("/")
            if source_name == name:
                directories[origin, place] += 1
    votes: Counter[RootPair] = Counter()
    for (origin, place), count in directories.items():
        votes[_pair(origin, place)] += count
    return votes


def _votes_by_path(tree: Mapping[RepoPath, TreeEntry], files: Sequence[InstalledFile]) -> Counter[RootPair]:
    """With no equal content at all (another commit's image) paths alone say what to compare."""
    by_name: dict[str, list[RepoPath]] = defaultdict(list)
    for path in tree:
        by_name[path.rpartition("/")[2]].append(path)
    return Counter(
        RootPair(source=path[: -len(file.path)].rstrip("/"), installed="")
        for file in files
        for path in by_name.get(file.path.rpartition("/")[2], [])
        if f"/{path}".endswith(f"/{file.path}")
    )


def _pair(origin: str, place: str) -> RootPair:
    """The two directories that remain when the common end of both is taken away."""
    left, right = (directory.split("/") if directory else [] for directory in (origin, place))
    common = 0
    while common < min(len(left), len(right)) and left[-1 - common] == right[-1 - common]:
        common += 1
    return RootPair(
        source="/".join(left[: len(left) - common]), installed="/".join(right[: len(right) - common])
    )


def _candidates(
    tree: Mapping[RepoPath, TreeEntry], files: Sequence[InstalledFile], votes: Counter[RootPair]
) -> dict[InstalledPath, list[tuple[RootPair, RepoPath]]]:
    """Sources that each installed path could have, the one of the best proven pair first."""
    by_installed: dict[str, list[RootPair]] = defaultdict(list)
    for pair in sorted(votes, key=lambda pair: (pair.installed, pair.source)):
        by_installed[pair.installed].append(pair)
    sources_of: dict[str, list[tuple[RootPair, str]]] = {}  # of the directories that hold files
    found: dict[InstalledPath, list[tuple[RootPair, RepoPath]]] = {}
    for file in files:
        holder, _, name = file.path.rpartition("/")
        if holder not in sources_of:
            levels = (*_directories_above(holder), holder)
            pairs = [pair for level in levels for pair in by_installed.get(level, ())]
            sources_of[holder] = [(pair, _source_directory(pair, holder)) for pair in pairs]
        options = []
        for pair, directory in sources_of[holder]:
            path = RepoPath(directory + name)
            if (entry := tree.get(path)) is not None and entry.is_file:
                options.append((pair, path))
        found[file.path] = sorted(options, key=lambda item: -votes[item[0]]) if options[1:] else options
    return found


def _source_directory(pair: RootPair, holder: str) -> str:
    """Where the files of an installed directory come from by a pair, with the slash; empty for the root."""
    rest = holder[len(pair.installed) :].lstrip("/")
    return "".join(f"{part}/" for part in (pair.source, rest) if part)


def _main_pairs(votes: Counter[RootPair]) -> set[RootPair]:
    """Pairs with the most proof for their installed directory, and more than any for one above it."""
    best: dict[str, int] = defaultdict(int)
    for pair, count in votes.items():
        best[pair.installed] = max(best[pair.installed], count)
    return {
        pair
        for pair, count in votes.items()
        if count == best[pair.installed]
        and all(best.get(above, 0) < count for above in _directories_above(pair.installed))
    }


def _credible_pairs(
    main: set[RootPair],
    candidates: Mapping[InstalledPath, Sequence[tuple[RootPair, RepoPath]]],
    proofs: Mapping[InstalledPath, Sequence[RepoPath]],
    files: Sequence[InstalledFile],
) -> set[RootPair]:
    """Other pairs of which enough files are equal to trust them with one that is not."""
    if not any(pair not in main for pairs in candidates.values() for pair, _ in pairs):
        return set()
    every: Counter[RootPair] = Counter()
    equal: Counter[RootPair] = Counter()
    for file in files:
        for pair, path in candidates[file.path]:
            if file.size or file.kind is not FileKind.FILE:
                every[pair] += 1
                equal[pair] += path in proofs[file.path]
    return {pair for pair, count in equal.items() if count >= max(FEWEST, CREDIBLE * every[pair])}


def _equal(pair: RootPair, best: RootPair, votes: Counter[RootPair]) -> bool:
    return pair.installed == best.installed and votes[pair] == votes[best]


def _places(
    found: Sequence[tuple[RootPair, InstalledPath]], main: set[RootPair]
) -> tuple[InstalledPath, ...]:
    """Where a file is installed; copies elsewhere count only for a file without a place of a main pair."""
    if len(found) == 1:
        return (found[0][1],)
    places = [installed for pair, installed in found if pair in main]
    return tuple(sorted(places or [installed for _, installed in found]))


def _directories_above(path: str) -> list[str]:
    """The directories above a path, the root ("") first; none above the root."""
    parts = path.split("/") if path else []
    return ["/".join(parts[:depth]) for depth in range(len(parts))]
