"""``verify``: whether the overlay that a target has is what was put there, and what its processes run."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from overlaysync.app.calling import Call, find_root
from overlaysync.app.contact import Contact
from overlaysync.app.options import Options, Stage
from overlaysync.app.read_back import read_back
from overlaysync.app.reading import find_workload, originals
from overlaysync.app.records import overlay_of, read_manifest
from overlaysync.app.report import about, problems_of, target_of
from overlaysync.app.several import Run, in_targets
from overlaysync.app.store import store, usual_place
from overlaysync.app.timing import Stages
from overlaysync.core import companions, drift, extensions, modules, presence, provenance, workload
from overlaysync.core.counting import counted
from overlaysync.core.origin import root_of
from overlaysync.core.putting_back import Originals
from overlaysync.model.manifest import Manifest
from overlaysync.model.problem import Problem
from overlaysync.model.result import Result
from overlaysync.model.target import UNKNOWN, FileKind, Inventory

INIT = "__init__.py"


def verify(calls: Sequence[Call], stage: Stage) -> Result:
    """Hashes the overlay again, resolves its modules, looks for drift and for stale processes.

    Writes nothing. The exit code is 1 with findings.
    """
    return in_targets("verify", calls, stage, _verify)


def _verify(run: Run) -> Result:
    target, stages = run.target, run.stages
    stages("reading the target")
    inventory = target.open("sha1")
    manifest = read_manifest(target, inventory)
    overlay = overlay_of(manifest)
    running = find_workload(target, inventory.root)
    stages("reading back")
    expected = {path: item.installed_sha256 for path, item in overlay.items()}
    kept = originals(target, inventory.root)
    proof = read_back(
        target, inventory, expected, way_back=lambda file: kept.way_back(overlay[file.path], file)
    )
    findings = [
        *proof.problems,
        *modules.judge_installation(target.interpreter, target.distribution, target.name, overlay),
        *companions.judge(target.name, target.interpreter, target.identity, manifest),
        *provenance.judge_mounts(inventory),
        *extensions.judge(inventory, target.interpreter),
        *_judge_originals(target, kept, manifest),
        *drift.judge_strays(
            inventory.strays, overlay, target.interpreter.extension_suffixes, drift.LEAVE_UNTOUCHED
        ),
        *drift.as_recorded(inventory.files, overlay, drift.LEAVE_UNTOUCHED),
        *_judge_processes(running, inventory),
        *_judge_first_places(target, running, inventory.root),
        *lost_record(run.options, target, manifest),
    ]
    result = _result(target, inventory, manifest, findings, stages)
    imports = {item.module: item.origin for item in proof.imports}
    ignored = list(running.record.ignored)
    return structs.replace(
        result,
        details={
            **result.details,
            "imports": imports,
            "workload_ignored": ignored,
            "notes": [
                *_from_elsewhere(run.options, manifest),
                *presence.copies(inventory.files, overlay.values()),
                *(_of_processes(running, inventory.changed_at) if overlay else ()),
            ],
            "hooks": list(target.interpreter.hooks),
        },
    )


def _from_elsewhere(options: Options, manifest: Manifest | None) -> list[str]:
    """Whose overlay it is, where another worktree pushed it: it is as recorded, and not what is here."""
    if manifest is None or root_of(manifest.repository) == str(find_root(options.worktree).resolve()):
        return []
    there = root_of(manifest.repository)
    return [f"the overlay was pushed from another worktree, {there}, at {manifest.time}"]


def _of_processes(running: workload.Workload, changed_at: float) -> list[str]:
    return [*workload.stale_ignored(running, changed_at), *workload.orphaned(running)]


def _judge_originals(target: Contact, originals: Originals, manifest: Manifest | None) -> list[Problem]:
    """Whether the originals that a revert would bring back are kept as they were."""
    kept = {
        originals.kept(item.destination): item
        for item in (manifest.overlay if manifest is not None else ())
        if item.original_sha256 is not None
    }
    files = target.session.look(list(kept), object_format="sha1") if kept else {}
    return [
        Problem(
            "overlay-damaged",
            f"the kept original of {item.destination} is missing or damaged, so it cannot be put back",
            "re-create the target from its image",
            item.destination,
        )
        for path, item in kept.items()
        if files[path].sha256 != item.original_sha256
    ]


def _judge_processes(running: workload.Workload, inventory: Inventory) -> list[Problem]:
    if inventory.manifest is None:
        return []  # there is no overlay that a process could be older than
    return workload.judge_stale(running, inventory.changed_at) if running.known else workload.judge(running)


def _judge_first_places(target: Contact, running: workload.Workload, root: str) -> list[Problem]:
    """Whether a running process finds another package of the name before it comes to the install root."""
    names = [package.module for package in target.interpreter.packages if package.origin is not None]
    looked: dict[str, bool] = {}
    problems = []
    for process in running.processes:
        for place, name in workload.looked_at_first(process, root, names):
            found = f"{place}/{name}"
            if found not in looked:
                files = (f"{found}/{INIT}", f"{found}.py")
                looked[found] = any(target.session.read(file) is not None for file in files)
            if looked[found]:
                problems.append(workload.judge_first(process, place, name))
                break
    return problems


def lost_record(options: Options, target: Contact, manifest: Manifest | None) -> list[Problem]:
    """Whether the overlay that this host recorded last is the one that is there."""
    here, name = target.identity.container_id, target.identity.name
    root = str(find_root(options.worktree).resolve())
    last = manifest or store(options).latest((root, str(usual_place(root))), name)
    if last is None or not last.overlay or last.distribution.name != target.name:
        return []
    there = last.target.container_id
    if here != there and UNKNOWN not in (here, there):
        if manifest is None:
            message = f"the last push went to container {there[:12]}; {name} now is {here[:12]}, without it"
            carried = " --port" if last.repository.root != root else ""
            next_step = f"push again, with the same options: overlaysync push{carried}"
            return [Problem("other-container", message, next_step)]
        message = (
            f"the overlay was put into container {there[:12]}; this is {here[:12]}, whose image holds it"
        )
        next_step = "revert it here, or start a container of the original image"
        return [Problem("other-container", message, next_step)]
    if manifest is not None or _is_as_before(target, last):
        return []
    message = (
        f"the target holds no record of the overlay that was pushed last ({last.id}); files of it may stand"
    )
    return [Problem("record-lost", message, "re-create the target, then push again")]


def _is_as_before(target: Contact, last: Manifest) -> bool:
    """Whether nothing of an overlay stands: somebody else reverted it, or a revert whose answer was lost."""
    placed = {item.destination: item for item in last.overlay}
    files = target.session.look(sorted(placed), object_format="sha1")
    return all(
        files[path].kind in (FileKind.FILE, FileKind.MISSING) and files[path].sha256 == item.original_sha256
        for path, item in placed.items()
    )


def _result(
    target: Contact,
    inventory: Inventory,
    manifest: Manifest | None,
    findings: list[Problem],
    stages: Stages,
) -> Result:
    files = counted(len(manifest.overlay) if manifest is not None else 0, "file")
    state = f"overlay of {files} ({manifest.id})" if manifest is not None else "there is no overlay"
    sentence = f"{state}: {counted(len(findings), 'finding') if findings else 'as recorded'}"
    return Result(
        command="verify",
        outcome="unchanged",
        exit_code=1 if findings else 0,
        target=target_of(target),
        problems=problems_of(findings),
        timings_ms=stages.milliseconds(),
        details={
            **about(target, inventory),
            "sentence": sentence,
            "overlay": [item.destination for item in overlay_of(manifest).values()],
            "overlay_manifest": manifest.id if manifest is not None else None,
        },
    )
