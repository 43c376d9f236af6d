"""Whether what is about to be pushed is what ran: commits against the overlays that were recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct, structs

from overlaysync.core.packages import is_in
from overlaysync.core.path_kind import PathKind, path_kind
from overlaysync.errors import UsageError
from overlaysync.model.manifest import Manifest
from overlaysync.model.plan import Placement
from overlaysync.model.problem import Problem
from overlaysync.model.worktree import ObjectId, RepoPath, TreeEntry

Tree = Mapping[RepoPath, TreeEntry]

NO_COMMIT = "0"
"""Of what an id of git consists that names nothing: the branch is new, or goes."""
REBUILDS = (PathKind.NATIVE, PathKind.ARTEFACT, PathKind.CYTHON, PathKind.BUILD, PathKind.GENERATOR_INPUT)
RUN_IT = "commit what ran, or run this: overlaysync push --port; or push all the same: git push --no-verify"
RUN_IT_AGAIN = "to have it there again: overlaysync push --port; or push all the same: git push --no-verify"
MAKE_ONE = "to have what is pushed proven, run this first: overlaysync push"


def or_take_it_away(problem: Problem, manifest: Manifest) -> Problem:
    """The same where another target has a newer overlay: this one may be a leftover, and both in the way."""
    away = f"if nothing is to run in {manifest.target.specification} any more: overlaysync revert"
    return structs.replace(problem, next_step=f"{away}; else {problem.next_step}")


class PushedRef(Struct, frozen=True):
    """One line that git gives a pre-push hook (githooks(5)). ``commit`` is None where the ref is deleted."""

    local: str
    commit: ObjectId | None
    remote: str


def parse(text: str) -> list[PushedRef]:
    """The lines of the hook's standard input. Raises UsageError for what is no such line."""
    return [_parse_line(line) for line in text.split("\n") if line]


def _parse_line(line: str) -> PushedRef:
    """The name of what is pushed is as git was given it, and may hold blanks: ``HEAD@{1 day ago}``."""
    words = line.rsplit(" ", 3)
    if len(words) != 4:
        raise UsageError(
            f"{line[:200]!r} is no line that git gives a pre-push hook",
            "let git call it: overlaysync hook install",
        )
    local, commit, remote, _ = words
    return PushedRef(local, _named(commit), remote)


def from_pre_commit(variables: Mapping[str, str]) -> list[PushedRef] | None:
    """The one ref that the pre-commit framework tells by variables, in place of git's lines; None without.

    Of a whole history it tells no commit but the local name alone, which leads to it.
    """
    local = variables.get("PRE_COMMIT_LOCAL_BRANCH", "")
    commit = variables.get("PRE_COMMIT_TO_REF") or local
    if not commit:
        return None
    return [PushedRef(local or commit, _named(commit), variables.get("PRE_COMMIT_REMOTE_BRANCH", local))]


def _named(commit: str) -> ObjectId | None:
    return ObjectId(commit) if commit.strip(NO_COMMIT) else None


class Ran(Struct, frozen=True):
    """What ran last in a target: the record of it, and that of what took it away since."""

    record: Manifest
    taken: Manifest | None = None


def ran_last(manifests: Iterable[Manifest]) -> list[Ran]:
    """What ran last of each distribution in each target, newest first.

    What was taken away counts for a distribution that has no overlay anywhere any more, the newest alone.
    """
    last: dict[tuple[str, str, str], Ran] = {}
    taken: dict[tuple[str, str, str], Manifest] = {}
    image: dict[tuple[str, str, str], Manifest] = {}
    for manifest in sorted(manifests, key=lambda item: item.id, reverse=True):
        key = (manifest.target.kind, manifest.target.name, manifest.distribution.name)
        if manifest.overlay:
            last.setdefault(key, _of_one_image(manifest, taken.get(key), image.get(key)))
        elif key not in last:
            taken.setdefault(key, manifest)
            if manifest.packages:  # a push that left the image's own; a revert does not tell what is packaged
                image.setdefault(key, manifest)
    for key, manifest in image.items():
        last.setdefault(key, Ran(manifest, taken[key]))
    found = sorted(last.values(), key=lambda item: item.record.id, reverse=True)
    there = [item for item in found if item.taken is None]
    names = {item.record.distribution.name for item in there}
    for item in found:
        if item.record.distribution.name not in names:
            names.add(item.record.distribution.name)
            there.append(item)
    return there


def _of_one_image(overlay: Manifest, taken: Manifest | None, image: Manifest | None) -> Ran:
    """An overlay and the image's own count together, unless that is the image of another commit by now."""
    if taken is None or taken.baseline.image_commit == overlay.baseline.image_commit:
        return Ran(overlay, taken)
    return Ran(image or taken, taken)


def none_there(manifests: Sequence[Manifest]) -> str:
    """Why there is nothing to compare with, where ``ran_last`` finds nothing."""
    if not manifests:
        return f"no overlay of this repository is recorded; {MAKE_ONE}"
    last = max(manifests, key=lambda item: item.id)
    return f"{_left_none(last)}, and what ran before is not recorded here; {MAKE_ONE}"


def told_of(ran: Ran) -> str | None:
    """What is compared where the target holds it no more."""
    if ran.taken is None:
        return None
    before = f"what ran before it, {_named_record(ran.record)}, and with " if ran.record.overlay else ""
    return f"{_left_none(ran.taken)}; compared with {before}the image's own Python"


def _left_none(manifest: Manifest) -> str:
    where = manifest.target.specification
    return f"the last {manifest.command}, {manifest.time}, left no overlay in {where}"


def _named_record(manifest: Manifest) -> str:
    return f"the overlay {manifest.id} of {manifest.time}"


Before = Callable[[RepoPath], Manifest | None]
"""The newest record of an overlay that holds a path as it is pushed."""
Held = Mapping[RepoPath, Mapping[ObjectId | None, Manifest]]
"""The newest record of each content (None: removed) of each path that was ever overlaid."""


def held(manifests: Iterable[Manifest]) -> Held:
    """What all these overlays held."""
    found: dict[RepoPath, dict[ObjectId | None, Manifest]] = {}
    for manifest in sorted(manifests, key=lambda item: item.id, reverse=True):
        for item in manifest.overlay:
            found.setdefault(item.source, {}).setdefault(item.blob, manifest)
    return found


def judge(ran: Ran, image: Tree, pushed: Tree, ref: str, before: Before) -> list[Problem]:
    """Packaged Python of what is pushed that is not what ran.

    Where it was taken away, the image's own runs since: that is no other Python either.

    ``image``: the tree of the image commit; ``pushed``: that of the pushed commit, laid onto it.
    """
    problems = _judge(ran.record, image, pushed, ref, before)
    if problems and ran.taken is not None:
        own = structs.replace(ran.record, overlay=())
        return problems if _judge(own, image, pushed, ref, before) else []
    return problems


def _judge(manifest: Manifest, image: Tree, pushed: Tree, ref: str, before: Before) -> list[Problem]:
    overlay = {item.source: item for item in manifest.overlay}
    overlaid = (_judge_overlaid(item, manifest, pushed, ref, before) for item in overlay.values())
    changed = sorted(path for path in image.keys() | pushed.keys() if image.get(path) != pushed.get(path))
    return [
        *(problem for problem in overlaid if problem is not None),
        *(
            _judge_other(path, manifest, ref, before(path))
            for path in changed
            if path not in overlay and _is_packaged_python(path, manifest) and _content(path, image, pushed)
        ),
    ]


def _judge_other(path: RepoPath, manifest: Manifest, ref: str, record: Manifest | None) -> Problem:
    message = f"{path} of {ref} differs from the image commit"
    if record is None:
        return Problem("never-ran", f"{message} and is in no recorded overlay: it never ran", RUN_IT, path)
    message = f"{message}; as pushed it ran in {_named_record(record)}, not in {_named_record(manifest)}"
    return Problem("differs-from-run", message, RUN_IT, path)


def holds_package(manifest: Manifest, pushed: Tree) -> bool:
    """Whether a tree holds anything of the packages that were installed."""
    return any(is_in(path, place) for path in pushed for place in manifest.packages)


def uncompared(manifest: Manifest, image: Tree, pushed: Tree) -> list[RepoPath]:
    """New Python in directories at the top that had none: whether it ships, no record tells."""
    tops = {path.partition("/")[0] for path in image if path.endswith(".py")}
    return sorted(
        path
        for path in pushed.keys() - image.keys()
        if "/" in path and path.partition("/")[0] not in tops
        if path_kind(path) is PathKind.PYTHON and not any(is_in(path, place) for place in manifest.packages)
    )


def rebuilds(image: Tree, pushed: Tree) -> list[RepoPath]:
    """Changed paths that need a rebuild of the image: to be named, whatever becomes of the push."""
    changed = sorted(path for path in image.keys() | pushed.keys() if image.get(path) != pushed.get(path))
    return [path for path in changed if path_kind(path) in REBUILDS]


def _judge_overlaid(
    item: Placement, manifest: Manifest, pushed: Tree, ref: str, before: Before
) -> Problem | None:
    entry = pushed.get(item.source)
    if (entry.oid if entry is not None else None) == item.blob:
        return None
    ran = "was removed" if item.blob is None else f"was {item.blob}"
    there = "is not there" if entry is None else f"is {entry.oid}"
    message = f"{item.source} {there} in {ref}, but {ran} in {manifest.target.specification}, where it ran"
    if (record := before(item.source)) is not None:
        message += f" last; as pushed it ran in {_named_record(record)}"
    return Problem("differs-from-run", message, RUN_IT, item.source)


def _content(path: RepoPath, image: Tree, pushed: Tree) -> bool:
    """Whether more than the mode changed, which is never synced."""
    before, after = image.get(path), pushed.get(path)
    return before is None or after is None or before.oid != after.oid


def _is_packaged_python(path: RepoPath, manifest: Manifest) -> bool:
    """Whether a build would install it, by what was installed of the image commit."""
    if path_kind(path) is not PathKind.PYTHON or path in manifest.unshipped:
        return False
    return any(is_in(path, place) for place in manifest.packages)
