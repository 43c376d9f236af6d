"""Whether what is about to be pushed is what ran: commits against the overlays that were recorded."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from overlaysync.core.path_kind import PathKind, path_kind
from overlaysync.errors import UsageError
from overlaysync.model.manifest import Manifest
from overlaysync.model.plan import Placement
from overlaysync.model.problem import Problem
from overlaysync.model.worktree import ObjectId, RepoPath, TreeEntry

Tree = Mapping[RepoPath, TreeEntry]

ROOT = "."
NO_COMMIT = "0"
"""Of what an id of git consists that names nothing: the branch is new, or goes."""
REBUILDS = (PathKind.NATIVE, PathKind.ARTEFACT, PathKind.CYTHON, PathKind.BUILD, PathKind.GENERATOR_INPUT)
RUN_IT = "commit what ran, or run this: overlaysync push --port; or push all the same: git push --no-verify"


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


def newest(manifests: Iterable[Manifest]) -> list[Manifest]:
    """The newest record of each distribution in each target, newest first; those of an overlay."""
    found: dict[tuple[str, str, str], Manifest] = {}
    for manifest in sorted(manifests, key=lambda item: item.id, reverse=True):
        target = manifest.target
        found.setdefault((target.kind, target.name, manifest.distribution.name), manifest)
    return [manifest for manifest in found.values() if manifest.overlay]


def none_there(manifests: Sequence[Manifest]) -> str:
    """Why there is nothing to compare with, where ``newest`` finds no overlay."""
    if not manifests:
        return "no overlay of this repository is recorded"
    last = max(manifests, key=lambda item: item.id)
    when, target = f"{last.command}, {last.time},", f"{last.target.kind}:{last.target.name}"
    return f"no overlay of this repository is there any more: the last {when} left none in {target}"


def judge(manifest: Manifest, image: Tree, pushed: Tree, ref: str) -> list[Problem]:
    """Packaged Python of what is pushed that is not what ran.

    ``image``: the tree of the image commit; ``pushed``: that of the pushed commit, laid onto it.
    """
    overlay = {item.source: item for item in manifest.overlay}
    problems = [
        problem for item in overlay.values() if (problem := _judge_overlaid(item, pushed, ref)) is not None
    ]
    changed = sorted(path for path in image.keys() | pushed.keys() if image.get(path) != pushed.get(path))
    for path in changed:
        if path not in overlay and _is_packaged_python(path, manifest) and _content(path, image, pushed):
            message = f"{path} of {ref} differs from the image commit and was in no overlay: it never ran"
            problems.append(Problem("never-ran", message, RUN_IT, path))
    return problems


def holds_package(manifest: Manifest, pushed: Tree) -> bool:
    """Whether a tree holds anything of the packages that were installed."""
    return any(_is_in(path, place) for path in pushed for place in manifest.packages)


def rebuilds(image: Tree, pushed: Tree) -> list[RepoPath]:
    """Changed paths that need a rebuild of the image: to be named, whatever becomes of the push."""
    changed = sorted(path for path in image.keys() | pushed.keys() if image.get(path) != pushed.get(path))
    return [path for path in changed if path_kind(path) in REBUILDS]


def _judge_overlaid(item: Placement, pushed: Tree, ref: str) -> Problem | None:
    entry = pushed.get(item.source)
    if (entry.oid if entry is not None else None) == item.blob:
        return None
    ran = "was removed" if item.blob is None else f"was {item.blob}"
    there = "is not there" if entry is None else f"is {entry.oid}"
    message = f"{item.source} {there} in {ref}, but {ran} where it ran"
    return Problem("differs-from-run", message, RUN_IT, item.source)


def _content(path: RepoPath, image: Tree, pushed: Tree) -> bool:
    """Whether more than the mode changed, which is never synced."""
    before, after = image.get(path), pushed.get(path)
    return before is None or after is None or before.oid != after.oid


def _is_packaged_python(path: RepoPath, manifest: Manifest) -> bool:
    """Whether a build would install it, by what was installed of the image commit."""
    if path_kind(path) is not PathKind.PYTHON or path in manifest.unshipped:
        return False
    return any(_is_in(path, place) for place in manifest.packages)


def _is_in(path: RepoPath, place: RepoPath) -> bool:
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
        if path.endswith(".py") and path not in shipped and any(_is_in(path, place) for place in packages)
    )
