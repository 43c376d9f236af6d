"""The plan: what must be done so that the target holds exactly the worktree's overlay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from overlaysync.core.patterns import quoted_pattern
from overlaysync.core.putting_back import RE_CREATE, Originals
from overlaysync.model.classified import ChangeClass
from overlaysync.model.plan import Action, Operation, Placement, Plan
from overlaysync.model.problem import Problem
from overlaysync.model.target import FileKind, InstalledFile, InstalledPath
from overlaysync.model.worktree import ObjectId, RepoPath, Sha256


class Desired(Struct, frozen=True):
    """One change that the target shall hold.

    ``head`` is HEAD's blob (None: an added path); ``sha256`` the worktree's content (None: a removed path).
    """

    source: RepoPath
    destination: InstalledPath
    change_class: ChangeClass
    cause: str
    head: ObjectId | None
    sha256: Sha256 | None
    blob: ObjectId | None = None
    size: int = 0


def make_plan(
    desired: Sequence[Desired],
    files: Mapping[InstalledPath, InstalledFile],
    overlay: Mapping[InstalledPath, Placement],
    mounts: Sequence[str],
    originals: Originals,
) -> tuple[Plan, tuple[Problem, ...]]:
    """Operations from what stands there to what is desired, and every problem of a destination.

    Args:
        desired: changes to hold, one for each destination.
        files: what stands at every destination of ``desired`` and of ``overlay`` now.
        overlay: what the last manifest put there. What is not desired any more goes back to the container's
            original, even where it was put back by hand: the kept one, and its bytecode, come with it. An
            added file that was removed by hand needs no step.
        mounts: mount points at or below the install root, absolute in the target.
        originals: where the target is, and what it keeps.
    """
    problems: list[Problem] = []
    operations: list[Operation] = []
    placements: list[Placement] = []
    for item in desired:
        file = files[item.destination]
        trouble = _in_the_way(item, file, mounts, originals.root)
        trouble = trouble or _original_trouble(item, file, overlay, originals)
        if trouble:
            problems.append(trouble)
            continue
        placement = overlay.get(item.destination)
        placements.append(_placement(item, file, placement))
        operation = _operation(item, file, placement)
        if operation is not None:
            operations.append(operation)
            problems.extend(_unwritable(item.source, file))
    wanted = {item.destination for item in desired}
    for destination, placement in overlay.items():
        if destination not in wanted:
            file = files[destination]
            trouble = originals.judge(placement, file)
            if trouble:
                problems.append(trouble)
            elif (file.sha256, placement.original_sha256) != (None, None):
                problems.extend(_unwritable(placement.source, file))
                operations.append(_back_to_head(placement, file))
    return (
        Plan(
            tuple(sorted(operations, key=_order)),
            tuple(sorted(placements, key=lambda item: item.destination)),
        ),
        tuple(problems),
    )


def is_in_place(plan: Plan, overlay: Mapping[InstalledPath, Placement]) -> bool:
    """Whether target and record are as the plan wants: a file removed by hand leaves a record behind."""
    return not plan.operations and {item.destination for item in plan.overlay} == set(overlay)


def directories_of(
    plan: Plan, before: Sequence[InstalledPath], made: Sequence[InstalledPath]
) -> tuple[InstalledPath, ...]:
    """The directories that the overlay made and still needs, after a plan."""
    held = {item.destination for item in plan.overlay if item.installed_sha256 is not None}
    return tuple(
        directory
        for directory in sorted({*before, *made})
        if any(path.startswith(directory + "/") for path in held)
    )


def plan_revert(
    overlay: Mapping[InstalledPath, Placement],
    files: Mapping[InstalledPath, InstalledFile],
    originals: Originals,
) -> tuple[Plan, tuple[Problem, ...]]:
    """The plan that puts every container original back."""
    return make_plan((), files, overlay, (), originals)


def _order(operation: Operation) -> tuple[str, str]:
    return (operation.destination, operation.action.value)


def _in_the_way(item: Desired, file: InstalledFile, mounts: Sequence[str], root: str) -> Problem | None:
    destination = f"{root}/{item.destination}"
    cache = f"{destination.rpartition('/')[0]}/__pycache__"
    for mount in mounts:
        if (
            destination == mount
            or destination.startswith(mount + "/")
            or (mount + "/").startswith(cache + "/")
        ):
            message = f"{mount} is a mount point in the target, so {destination} is not the image's file"
            return Problem("mount", message, "start the container without that mount", item.source)
    if file.kind in (FileKind.LINK, FileKind.OTHER):
        what = "a symbolic link is" if file.kind is FileKind.LINK else "something that is no regular file is"
        message = f"{what} at {destination}, or above it"
        return Problem(
            "link", message, "reinstall the distribution with plain files (uv: --link-mode copy)", item.source
        )
    if file.kind is FileKind.UNREADABLE:
        message = f"{destination} cannot be read in the target: {file.error}"
        return Problem("original-differs", message, "write as a user who may: --user root", item.source)
    if file.linked_cache:
        message = f"{cache} is a symbolic link, so the bytecode that Python accepts lies somewhere else"
        return Problem("link", message, "remove the link in the image: bytecode is made again", item.source)
    if file.twins:
        message = f"{', '.join(file.twins)} is imported in place of {item.destination}"
        return Problem("compiled-twin", message, "rebuild the image: the module is compiled", item.source)
    return None


def _original_trouble(
    item: Desired,
    file: InstalledFile,
    overlay: Mapping[InstalledPath, Placement],
    originals: Originals,
) -> Problem | None:
    """Why what stands there is not what the change was made against."""
    placement = overlay.get(item.destination)
    if placement is not None:
        return originals.judge(placement, file)
    destination = item.destination
    if item.head is None:
        if file.kind is FileKind.MISSING:
            return None
        message = f"{destination} exists in the target already (sha256 {file.sha256}), and is not ours"
        next_step = (
            "remove it there if it is of no use, or rename the new file; if the build generates it: "
            f"not-shipped = [{quoted_pattern(item.source)}]"
        )
        return Problem("destination-exists", message, next_step, item.source)
    if file.kind is FileKind.MISSING:
        message = f"{destination} is not in the target, although RECORD lists it"
        return Problem("destination-missing", message, "re-create the target", item.source)
    if file.blob != item.head:
        message = (
            f"{destination} is not HEAD's file: HEAD blob {item.head}, target sha256 {file.sha256}, "
            f"worktree sha256 {item.sha256}"
        )
        return Problem("original-differs", message, RE_CREATE, item.source)
    return None


def _unwritable(source: RepoPath, file: InstalledFile) -> list[Problem]:
    if file.unwritable is None:
        return []
    read_only = "read-only" in file.unwritable
    next_step = (
        "start the container with a writable root" if read_only else "write as another user: --user root"
    )
    return [Problem("not-writable", f"{file.path}: {file.unwritable}", next_step, source)]


def _placement(item: Desired, file: InstalledFile, placement: Placement | None) -> Placement:
    return Placement(
        source=item.source,
        destination=item.destination,
        change_class=item.change_class,
        original_sha256=placement.original_sha256 if placement is not None else file.sha256,
        installed_sha256=item.sha256,
        blob=item.blob,
        size=item.size,
    )


def _operation(item: Desired, file: InstalledFile, placement: Placement | None) -> Operation | None:
    before = file.sha256
    if before == item.sha256:
        return None
    return Operation(
        action=_action(before, item.sha256),
        source=item.source,
        destination=item.destination,
        change_class=item.change_class,
        before=before,
        after=item.sha256,
        cause=item.cause,
        size=item.size,
        keeps_original=placement is None and before is not None,
    )


def _back_to_head(placement: Placement, file: InstalledFile) -> Operation:
    before, after = file.sha256, placement.original_sha256
    return Operation(
        action=_action(before, after),
        source=placement.source,
        destination=placement.destination,
        change_class=placement.change_class,
        before=before,
        after=after,
        cause="back to the container's original",
        restores=after is not None,
    )


def _action(before: Sha256 | None, after: Sha256 | None) -> Action:
    if before is None:
        return Action.ADD
    return Action.REMOVE if after is None else Action.REPLACE
