"""Turns what a use case found into the result that people and programs are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from overlaysync.app.contact import Contact
from overlaysync.app.options import Options
from overlaysync.app.store import store
from overlaysync.app.survey import Situation
from overlaysync.app.timing import Stages
from overlaysync.core import companions, presence
from overlaysync.core.backends import ships_whole
from overlaysync.core.counting import counted
from overlaysync.core.origin import other_origin
from overlaysync.errors import REFUSALS, OverlaysyncError, UsageError
from overlaysync.model.evidence import Baseline
from overlaysync.model.manifest import Manifest
from overlaysync.model.plan import Action, Operation, Placement, Plan
from overlaysync.model.problem import Problem
from overlaysync.model.result import (
    Outcome,
    Result,
    ResultBaseline,
    ResultContent,
    ResultOperation,
    ResultProblem,
    ResultTarget,
)
from overlaysync.model.target import UNKNOWN, InstalledPath, Inventory, Validation
from overlaysync.model.worktree import MODE_EXECUTABLE, Repository, Snapshot


def target_of(contact: Contact) -> ResultTarget:
    identity = contact.identity
    return ResultTarget(
        kind=identity.kind,
        name=identity.name,
        container_id=None if identity.container_id == UNKNOWN else identity.container_id,
        image_id=None if identity.image_id == UNKNOWN else identity.image_id,
        interpreter=contact.interpreter.path,
    )


def baseline_of(baseline: Baseline) -> ResultBaseline:
    content = baseline.content
    return ResultBaseline(
        head=baseline.head,
        image_commit=baseline.image_commit,
        evidence=baseline.evidence,
        content=ResultContent(
            compared=content.compared,
            equal=content.equal,
            overlaid=sum(item.explained == "overlay" for item in content.different),
            different=tuple(item.destination for item in content.different if item.explained != "overlay"),
        ),
    )


def operations_of(
    plan: Plan, overlay: dict[InstalledPath, Placement], root: str
) -> tuple[ResultOperation, ...]:
    originals = {**overlay, **{item.destination: item for item in plan.overlay}}
    return tuple(_operation(item, originals.get(item.destination), root) for item in plan.operations)


def _operation(operation: Operation, placement: Placement | None, root: str) -> ResultOperation:
    return ResultOperation(
        action=operation.action.value,
        source=operation.source,
        destination=f"{root}/{operation.destination}",
        change_class=operation.change_class.value,
        original_sha256=placement.original_sha256 if placement is not None else operation.before,
        installed_sha256=operation.after,
        cause=operation.cause,
    )


def problems_of(problems: Sequence[Problem]) -> tuple[ResultProblem, ...]:
    return tuple(
        ResultProblem(code=item.code, path=item.path, message=item.message, next_step=item.next_step)
        for item in problems
    )


def failure_of(
    command: str, error: OverlaysyncError, target: ResultTarget, details: dict[str, Any] | None = None
) -> Result:
    """The result for one of several targets where an error ended the run."""
    refused = error.exit_code in REFUSALS
    # it may have been in place, and was taken back
    told = {"sentence": f"refused: nothing stays written (exit {error.exit_code})"} if refused else {}
    return Result(
        command=command,
        outcome="refused" if refused else "failed",
        exit_code=error.exit_code,
        target=target,
        problems=(ResultProblem(error.code, None, error.message, error.next_step),),
        details={**told, **(details or {})},
    )


def result_of(
    command: str,
    outcome: Outcome,
    exit_code: int,
    contact: Contact,
    situation: Situation,
    timings: dict[str, float],
    *,
    problems: Sequence[Problem] | None = None,
) -> Result:
    """The result of a command that walked the pipeline."""
    return Result(
        command=command,
        outcome=outcome,
        exit_code=exit_code,
        target=target_of(contact),
        baseline=baseline_of(situation.baseline),
        operations=operations_of(situation.plan, situation.reading.overlay, situation.reading.inventory.root),
        problems=problems_of(situation.problems if problems is None else problems),
        not_packaged=situation.selection.not_packaged,
        timings_ms=timings,
        details=details_of(contact, situation),
    )


def applied(result: Result, manifest: Manifest, options: Options, stages: Stages) -> Result:
    """The result of what the target has committed: a host that cannot keep its copy changes nothing of it."""
    told = [*result.details.get("notes", ()), *_trusted(manifest), *_restart(manifest)]
    overlay = [item.destination for item in manifest.overlay]
    held = manifest.id if overlay else None
    path, details = None, {**result.details, "notes": told, "overlay": overlay, "overlay_manifest": held}
    try:
        path = str(store(options).save(manifest))
    except UsageError as error:
        details = {
            **details,
            "not_recorded_here": f"{error.message}; the target holds the manifest {manifest.id}",
        }
    return structs.replace(
        result, outcome="applied", manifest=path, timings_ms=stages.milliseconds(), details=details
    )


def _trusted(manifest: Manifest) -> list[str]:
    """Bytecode that would have been run for ever, whatever became of its source."""
    return [
        f"{path}: dropped; Python trusted it without a look at {file.destination} (unchecked-hash)"
        for file in manifest.files
        for path, validation in file.bytecode_validation.items()
        if validation is Validation.UNCHECKED_HASH
    ]


def _restart(manifest: Manifest) -> list[str]:
    """A process that is up keeps its modules and its listings of directories; no file changes that."""
    if manifest.workload.ignored:
        return [
            f"{', '.join(manifest.workload.ignored)}: left alone; keeps what it has loaded and may not find "
            "added files before it is restarted"
        ]
    if any(operation.action is Action.ADD for operation in manifest.operations):
        return ["a process that is up already may not find added files before it is restarted"]
    return []


def about(contact: Contact, inventory: Inventory) -> dict[str, Any]:
    """What every command that has been in contact can tell of the target."""
    return {
        "distribution": f"{contact.name} {contact.distribution.version}",
        "install_root": inventory.root,
        "found_by": contact.found_by,
        "python": contact.interpreter.version,
        "user_site": {
            "USER_SITE": contact.interpreter.user_site,
            "ENABLE_USER_SITE": contact.interpreter.user_site_enabled,
            "PYTHONNOUSERSITE": contact.interpreter.no_user_site,
        },
        "recovered": inventory.recovered,
        "image": _image_of(contact),
    }


def _image_of(contact: Contact) -> dict[str, Any]:
    """The image by each kind of digest that it has; what the engine does not tell is "unknown"."""
    identity = contact.identity
    return {
        "name": identity.image_name,
        "image_id": identity.image_id,
        "config_digest": identity.config_digest,
        "repo_digests": list(identity.repo_digests),
        "index_digest": identity.index_digest,
        "manifest_digest": identity.manifest_digest,
        "platform": identity.platform,
    }


def details_of(contact: Contact, situation: Situation) -> dict[str, Any]:
    """What is worth knowing and changes nothing."""
    reading = situation.reading
    snapshot, inventory, manifest = reading.snapshot, reading.inventory, reading.manifest
    packages = {path.rpartition("/")[0] for path in situation.shipped.destinations}
    image = situation.image
    whole = ships_whole(image.build_files)
    absent = presence.absent(image.tree, image.shipped, reading.files, whole, reading.overlay)
    ground = "HEAD" if image.tree is snapshot.tree else "the image commit"
    return {
        **about(contact, inventory),
        "branch": snapshot.repository.branch,
        "overlay": [item.destination for item in reading.overlay.values()],
        "overlay_manifest": manifest.id if manifest is not None else None,
        "acknowledged": {item.risk: list(item.paths) for item in situation.acknowledged},
        "overlaid_from": _origin(manifest, snapshot.repository),
        "left_out": [f"{item.message} → {item.next_step}" for item in situation.selection.left_out],
        "ignored": [
            f"{item.path}: synced, though ignored by {item.rule}, so that git add leaves it out"
            if item.by_user
            else f"{item.path}: not synced, ignored by {item.rule}"
            for item in snapshot.ignored
            if _in_package(item.path, packages)
        ],
        "hidden": _hidden(snapshot),
        "mode_only": _modes(snapshot),
        "missing": list(absent.missing),
        "absent": list(absent.not_packaged),
        "generated": [
            f"{path}: generated by the build, not from {ground}; left alone"
            for path in presence.generated(reading.files, image.shipped, reading.overlay)
        ],
        "hooks": list(contact.interpreter.hooks),
        "unmet": companions.unmet(contact.distribution, contact.interpreter),
        "companions": companions.notes(contact.name, contact.interpreter, contact.identity, manifest),
        "notes": [
            *(
                f"acknowledged ({item.risk}): {', '.join(path or 'the run' for path in item.paths)}"
                for item in situation.acknowledged
            ),
            *(f"--acknowledge {risk}: nothing of that class was met" for risk in situation.unneeded),
            *(
                f"{item.name} {item.value}: is no full id, and proves nothing"
                for item in situation.baseline.evidence
                if item.kind == "given" and item.commit is None
            ),
            *situation.selection.notes,
            *presence.copies(inventory.files, situation.plan.overlay),
            *presence.copies_of_unpackaged(
                inventory.files, snapshot.changes, situation.selection.not_packaged
            ),
            *_links(situation),
            *(f"{path}: a Git LFS pointer, the image lacks its data" for path in situation.pointers),
        ],
        "workload_ignored": list(reading.workload.record.ignored),
    }


def _origin(manifest: Manifest | None, repository: Repository) -> str | None:
    """Whose overlay it is, where another worktree pushed it: this push takes that one's place."""
    origin = None if manifest is None else other_origin(manifest, repository)
    if manifest is None or origin is None:
        return None
    files = counted(len(manifest.overlay), "file")
    return f"the overlay of {files} was pushed from {origin} at {manifest.time}"


def _hidden(snapshot: Snapshot) -> list[str]:
    absent = set(snapshot.not_checked_out)
    return [
        f"{path}: not checked out, left as installed"
        if path in absent
        else f"{path}: index flag set, compared by bytes"
        for path in snapshot.hidden
    ]


def _modes(snapshot: Snapshot) -> list[str]:
    """Executable bits that differ from HEAD's. A target's file keeps the mode that it has."""
    both = [
        change.path
        for change in snapshot.changes
        if change.head is not None and change.content is not None and change.head.is_file
        if change.executable != (change.head.mode == MODE_EXECUTABLE)
    ]
    return [
        *(f"{path}: only the executable bit differs, not synced" for path in snapshot.mode_only),
        *(f"{path}: its executable bit differs too; the target's mode stays" for path in both),
    ]


def _in_package(path: str, packages: set[str]) -> bool:
    directory = path.rpartition("/")[0]
    while directory and directory not in packages:
        directory = directory.rpartition("/")[0]
    return directory in packages


def _links(situation: Situation) -> list[str]:
    return [
        f"{file.path}: has {file.links} names (hard links); the others keep the old content"
        for operation in situation.plan.operations
        if (file := situation.files.get(operation.destination)) is not None
        and operation.keeps_original
        and file.links > 1
    ]
