"""From worktree path to installed path: proven by content, never guessed (design §7).

Installed files whose content is a blob of HEAD show which source directory was installed where (a *root
pair*). Every installed path then has at most one source: the one given by the pair with most proof.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from overlaysync.model.target import FileKind, InstalledFile, InstalledPath
from overlaysync.model.worktree import RepoPath, TreeEntry

COMMON = 8
"""Content that more tracked files than this share (an empty ``__init__.py``) proves no source."""

CREDIBLE = 0.5
"""A lesser pair counts for files of other content only when at least this share of its files is equal."""


class RootPair(Struct, frozen=True):
    """``source`` directory of the repository, installed as ``installed`` directory ("" for either's root)."""

    source: str
    installed: str


class Shipped(Struct, frozen=True):
    """What of the tree is installed, and where."""

    pairs: dict[RootPair, int] = field(default_factory=dict)  # with the number of files that prove each
    destinations: dict[RepoPath, tuple[InstalledPath, ...]] = field(default_factory=dict)

    def destination(self, path: RepoPath) -> InstalledPath | None:
        """Where a tracked path is installed; None when it does not ship, or at more than one place."""
        places = self.destinations.get(path, ())
        return places[0] if len(places) == 1 else None

    def ambiguous(self, path: RepoPath) -> tuple[InstalledPath, ...]:
        places = self.destinations.get(path, ())
        return places if len(places) > 1 else ()


def prove(tree: Mapping[RepoPath, TreeEntry], files: Sequence[InstalledFile]) -> Shipped:
    """Which tracked files ship, and where to. ``files`` are RECORD's, without those of the dist-info."""
    votes = _votes(tree, files) or _votes_by_path(tree, files)
    assigned: dict[InstalledPath, list[tuple[RootPair, RepoPath]]] = {}
    by_installed: dict[str, list[RootPair]] = defaultdict(list)
    for pair, _ in sorted(votes.items(), key=lambda item: (-item[1], item[0].source, item[0].installed)):
        by_installed[pair.installed].append(pair)
    tally: Counter[RootPair] = Counter()
    equal: Counter[RootPair] = Counter()
    blobs: dict[InstalledPath, str | None] = {file.path: file.blob for file in files}
    for file in files:
        candidates = _candidates(file.path, by_installed, tree, votes)
        assigned[file.path] = candidates
        for pair, path in candidates:
            tally[pair] += 1
            equal[pair] += tree[path].oid == blobs[file.path]
    dominant = {pair for pair in votes if _is_dominant(pair, votes)}
    destinations: dict[RepoPath, list[InstalledPath]] = defaultdict(list)
    for installed, candidates in assigned.items():
        for pair, path in candidates:
            same = tree[path].oid == blobs[installed]
            if same or pair in dominant or equal[pair] >= CREDIBLE * tally[pair]:
                destinations[path].append(installed)
                break
    return Shipped(
        pairs=dict(votes), destinations={path: tuple(sorted(at)) for path, at in destinations.items()}
    )


def _votes(tree: Mapping[RepoPath, TreeEntry], files: Sequence[InstalledFile]) -> Counter[RootPair]:
    """Pairs by the number of installed files that prove them by their content."""
    holders: dict[str, list[RepoPath]] = defaultdict(list)
    for path, entry in tree.items():
        if entry.is_file:
            holders[entry.oid].append(path)
    votes: Counter[RootPair] = Counter()
    for file in files:
        sources = holders.get(file.blob or "", [])
        if file.kind is FileKind.FILE and len(sources) <= COMMON:
            for path in sources:
                pair = _pair(path, file.path)
                if pair is not None:
                    votes[pair] += 1
    return votes


def _votes_by_path(tree: Mapping[RepoPath, TreeEntry], files: Sequence[InstalledFile]) -> Counter[RootPair]:
    """With no equal content at all (another commit's image) paths alone say what to compare."""
    by_name: dict[str, list[RepoPath]] = defaultdict(list)
    for path in tree:
        by_name[path.rpartition("/")[2]].append(path)
    votes: Counter[RootPair] = Counter()
    for file in files:
        for path in by_name.get(file.path.rpartition("/")[2], []):
            if f"/{path}".endswith(f"/{file.path}"):
                votes[RootPair(source=path[: -len(file.path)].rstrip("/"), installed="")] += 1
    return votes


def _pair(source: str, installed: str) -> RootPair | None:
    """The two directories that remain when the common end of both paths is taken away; None without one."""
    left, right = source.split("/"), installed.split("/")
    common = 0
    while common < min(len(left), len(right)) and left[-1 - common] == right[-1 - common]:
        common += 1
    if common == 0:
        return None
    return RootPair(
        source="/".join(left[: len(left) - common]), installed="/".join(right[: len(right) - common])
    )


def _candidates(
    installed: InstalledPath,
    by_installed: Mapping[str, Sequence[RootPair]],
    tree: Mapping[RepoPath, TreeEntry],
    votes: Mapping[RootPair, int],
) -> list[tuple[RootPair, RepoPath]]:
    """Sources that an installed path could have, the one of the best proven pair first."""
    found = []
    for directory in ("", *_ancestors(installed)):
        for pair in by_installed.get(directory, ()):
            rest = installed[len(directory) :].lstrip("/")
            path = RepoPath(f"{pair.source}/{rest}" if pair.source else rest)
            if path in tree and tree[path].is_file:
                found.append((pair, path))
    return sorted(found, key=lambda item: -votes[item[0]])


def _is_dominant(pair: RootPair, votes: Mapping[RootPair, int]) -> bool:
    """Whether no pair for the same or a higher installed directory has more proof."""
    above = {"", pair.installed, *_ancestors(pair.installed)}
    return all(votes[other] <= votes[pair] for other in votes if other.installed in above)


def _ancestors(path: str) -> list[str]:
    """The directories above a path, outermost first, without the root."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
