"""Confirmation by content: installed files from tracked sources against the blobs of HEAD (design §6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from overlaysync.core.counting import counted
from overlaysync.core.mapping import Shipped
from overlaysync.core.patterns import Patterns, quoted_pattern
from overlaysync.core.putting_back import RE_CREATE, Originals
from overlaysync.model.evidence import ContentCount, Difference
from overlaysync.model.plan import Placement
from overlaysync.model.problem import Problem
from overlaysync.model.target import FileKind, InstalledFile, InstalledPath
from overlaysync.model.worktree import ObjectId, RepoPath, Sha256, TreeEntry

POINTER_SIZES = range(100, 256)
"""Bytes of the usual pointer text: version, oid and size (Git LFS, docs/spec.md)."""

LEAVE = "re-create the target, or leave the file as it is: push, status and watch take --acknowledge drift"
LEAVE_UNTOUCHED = f"{LEAVE}, unless the worktree changes it"
"""Where nothing is known of a worktree: a file that it changes, too, is never acknowledged."""


def compare(
    tree: Mapping[RepoPath, TreeEntry],
    shipped: Shipped,
    files: Sequence[InstalledFile],
    overlay: Mapping[InstalledPath, Placement],
    generated: Sequence[str],
    pointed: Mapping[ObjectId, Sha256],
) -> ContentCount:
    """Counts how many shipped files equal HEAD's blobs, and explains the rest as far as it can.

    ``pointed``: what those blobs that are Git LFS pointers name; it is what a build with Git LFS installs.
    """
    by_path = {file.path: file for file in files}
    patterns = Patterns(generated)
    compared, equal, different = 0, 0, []
    for source, destinations in shipped.destinations.items():
        oid = tree[source].oid
        for destination in destinations:
            file = by_path[destination]
            compared += 1
            if file.kind is FileKind.FILE and (file.blob == oid or file.sha256 == pointed.get(oid, "")):
                equal += 1
                continue
            different.append(
                Difference(
                    source=source,
                    destination=destination,
                    head_blob=oid,
                    target_sha256=file.sha256,
                    record_sha256=file.record_sha256,
                    explained=_explain(file, source, overlay.get(destination), patterns),
                )
            )
    different.sort(key=lambda item: item.source)
    return ContentCount(compared=compared, equal=equal, different=tuple(different))


def possible_pointers(
    tree: Mapping[RepoPath, TreeEntry], shipped: Shipped, files: Sequence[InstalledFile]
) -> set[ObjectId]:
    """Blobs of HEAD that may be Git LFS pointers: what is installed is as small as one, or something else."""
    by_path = {file.path: file for file in files}
    found = set()
    for source, destinations in shipped.destinations.items():
        oid = tree[source].oid
        for destination in destinations:
            file = by_path[destination]
            if file.blob != oid or file.size in POINTER_SIZES:
                found.add(oid)
    return found


def installed_pointers(
    files: Sequence[InstalledFile], pointed: Mapping[ObjectId, Sha256]
) -> tuple[InstalledPath, ...]:
    """Files that are pointer texts: the image was built without Git LFS."""
    return tuple(file.path for file in files if file.blob in pointed)


def _explain(
    file: InstalledFile, source: RepoPath, placement: Placement | None, generated: Patterns
) -> str | None:
    if placement is not None and placement.installed_sha256 == file.sha256:
        return "overlay"
    as_built = file.record_sha256 in (None, file.sha256) and file.kind is FileKind.FILE
    return "generated" if as_built and generated.match(source) else None


def judge(
    content: ContentCount,
    files: Sequence[InstalledFile],
    touched: Mapping[RepoPath, Sha256 | None],
    overlay: Mapping[InstalledPath, Placement],
    originals: Originals,
) -> tuple[Problem, ...]:
    """Problems of the comparison. Of the overlay's own files the plan says the same in the same words.

    ``touched``: changed worktree paths with the digest of their content there (None: removed).
    """
    explained = any(item.explained == "overlay" for item in content.different)
    if content.compared == 0 or (content.equal == 0 and not explained):
        linked = [file.path for file in files if file.kind is FileKind.LINK]
        return (_linked(linked) if linked else _unproven(content),)
    by_path = {file.path: file for file in files}
    problems = [
        _judge_overlaid(item, by_path, overlay, originals) or _judge_difference(item, touched)
        for item in content.different
        if item.explained is None or (item.explained == "generated" and item.source in touched)
    ]
    sources = {item.destination for item in content.different}
    problems.extend(as_recorded([file for file in files if file.path not in sources], overlay))
    return tuple(problems)


def as_recorded(
    files: Sequence[InstalledFile],
    overlay: Mapping[InstalledPath, Placement],
    remedy: str = LEAVE,
) -> tuple[Problem, ...]:
    """Files that are neither of the overlay nor what RECORD says was installed."""
    return tuple(_not_as_recorded(file, remedy) for file in files if _altered(file, overlay))


def judge_strays(
    strays: Sequence[InstalledPath],
    overlay: Mapping[InstalledPath, Placement],
    extension_suffixes: Sequence[str],
    remedy: str = LEAVE,
) -> tuple[Problem, ...]:
    """What stands before a module of the distribution, and is neither recorded nor ours.

    An extension module stands before one only with a suffix of the interpreter's.
    """
    ours = [path for path, item in overlay.items() if item.installed_sha256 is not None]
    return tuple(
        Problem(
            "drift",
            f"{stray} is not of the distribution, and is imported in place of its module",
            remedy,
            stray,
        )
        for stray in strays
        if _suffix(stray) in ("", *extension_suffixes)
        and not any(path == stray or path.startswith(stray + "/") for path in ours)
    )


def _suffix(path: InstalledPath) -> str:
    _, dot, rest = path.rpartition("/")[2].partition(".")
    return dot + rest


def _judge_overlaid(
    item: Difference,
    files: Mapping[InstalledPath, InstalledFile],
    overlay: Mapping[InstalledPath, Placement],
    originals: Originals,
) -> Problem | None:
    placement = overlay.get(item.destination)
    return None if placement is None else originals.judge(placement, files[item.destination])


def _judge_difference(item: Difference, touched: Mapping[RepoPath, Sha256 | None]) -> Problem:
    hashes = (
        f"HEAD blob {item.head_blob[:12]}, target sha256 {_short(item.target_sha256)}, "
        f"worktree sha256 {_short(touched[item.source]) if item.source in touched else 'as HEAD'}"
    )
    if item.explained == "generated":
        message = f"the build overwrites this tracked file, so the target does not hold HEAD's ({hashes})"
        return Problem(
            "original-differs", message, "change what the build makes it from, and rebuild", item.source
        )
    if item.target_sha256 is not None and item.target_sha256 == item.record_sha256:
        message = f"the image was built with another {item.destination} than HEAD's ({hashes})"
        line = f"generated = [{quoted_pattern(item.source)}]"
        next_step = f"rebuild from HEAD; if the build overwrites it, declare it: {line}"
        return Problem("content-differs", message, next_step, item.source)
    if item.record_sha256 is None:
        message = (
            f"{item.destination} is not HEAD's, and RECORD has no hash to tell who changed it ({hashes})"
        )
        return Problem("content-differs", message, "rebuild the image from HEAD", item.source)
    code = "original-differs" if item.source in touched else "drift"
    what = "is missing" if item.target_sha256 is None else "was changed"
    message = f"{item.destination} {what} in the target after installation ({hashes})"
    return Problem(code, message, LEAVE if code == "drift" else RE_CREATE, item.source)


def _altered(file: InstalledFile, overlay: Mapping[InstalledPath, Placement]) -> bool:
    """A file that no tracked source explains (compiled, generated) must be what RECORD says."""
    if file.path in overlay or file.record_sha256 is None:
        return False
    return file.kind is not FileKind.FILE or file.sha256 != file.record_sha256


def _not_as_recorded(file: InstalledFile, remedy: str) -> Problem:
    state = f"sha256 {_short(file.sha256)}" if file.kind is FileKind.FILE else file.kind.value
    message = (
        f"{file.path} is not what was installed: RECORD sha256 {_short(file.record_sha256)}, target {state}"
    )
    return Problem("drift", message, remedy, file.path)


def _unproven(content: ContentCount) -> Problem:
    files = counted(content.compared, "installed file that has", "installed files that have")
    message = (
        f"none of {files} a tracked source equals HEAD's"
        if content.compared
        else "no installed file has a tracked source at HEAD"
    )
    return Problem(
        "content-unproven", message, "check that worktree, --distribution and target belong together"
    )


def _linked(paths: Sequence[InstalledPath]) -> Problem:
    more = f" (and {counted(len(paths) - 1, 'more file')} of the distribution)" if len(paths) > 1 else ""
    message = f"{paths[0]} is a symbolic link or lies behind one{more}, so what it leads to is not installed"
    return Problem("link", message, "reinstall the distribution with plain files (uv: --link-mode copy)")


def _short(digest: str | None) -> str:
    return "none" if digest is None else digest[:12]
