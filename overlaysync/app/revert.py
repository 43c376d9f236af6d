"""``revert``: the container's own files come back, after checking that the overlay is still ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import structs

from overlaysync.app.calling import Call
from overlaysync.app.contact import Contact
from overlaysync.app.options import Stage
from overlaysync.app.reading import find_workload, originals
from overlaysync.app.records import Cause, Task, overlay_of, read_manifest
from overlaysync.app.report import about, applied, operations_of, problems_of, target_of
from overlaysync.app.several import Run, in_targets
from overlaysync.app.timing import Stages
from overlaysync.app.transact import carry_out
from overlaysync.app.verify import lost_record
from overlaysync.core import workload
from overlaysync.core.planning import plan_revert
from overlaysync.model.manifest import Manifest
from overlaysync.model.plan import Operation, Plan
from overlaysync.model.problem import Problem, exit_code
from overlaysync.model.result import Result
from overlaysync.model.target import InstalledFile, InstalledPath, Inventory


def revert(calls: Sequence[Call], stage: Stage, *, dry_run: bool = False) -> Result:
    """Puts every original back, byte for byte, with owner, mode and times; removes what was added.

    Needs no baseline: what comes back was kept in the target.
    """
    return in_targets("revert", calls, stage, partial(_revert, dry_run=dry_run))


def _revert(run: Run, *, dry_run: bool) -> Result:
    target, stages = run.target, run.stages
    stages("reading the target")
    inventory = target.open("sha1")
    manifest = read_manifest(target, inventory)
    if manifest is None:
        result = _result(target, inventory, Plan(), None, stages)
        missed = lost_record(run.options, target, None)
        if lost := [problem for problem in missed if problem.code == "record-lost"]:
            code = exit_code(lost)
            return structs.replace(result, outcome="refused", exit_code=code, problems=problems_of(lost))
        why = "".join(f": {problem.message}" for problem in missed)
        details = {**result.details, "sentence": f"there is no overlay to revert{why}"}
        return structs.replace(result, outcome="unchanged", details=details)
    plan, files, problems = _plan(target, inventory, manifest)
    result = _result(target, inventory, plan, manifest, stages)
    if problems:
        code = exit_code(problems)
        return structs.replace(result, outcome="refused", exit_code=code, problems=problems_of(problems))
    if dry_run:
        return result
    run.agree()
    done = _apply(run, inventory, manifest, plan, files)
    return applied(result, done, run.options, stages)


def _plan(
    target: Contact, inventory: Inventory, manifest: Manifest
) -> tuple[Plan, dict[InstalledPath, InstalledFile], tuple[Problem, ...]]:
    overlay = overlay_of(manifest)
    files = target.session.look(sorted(overlay), object_format="sha1", writable=True)
    plan, problems = plan_revert(overlay, files, originals(target, inventory.root))
    running = find_workload(target, inventory.root)
    return plan, files, (*workload.judge(running), *problems)


def _apply(
    run: Run,
    inventory: Inventory,
    manifest: Manifest,
    plan: Plan,
    files: dict[InstalledPath, InstalledFile],
) -> Manifest:
    cause = Cause(
        command="revert",
        repository=manifest.repository,
        diff_sha256=manifest.diff_sha256,
        baseline=manifest.baseline,
        workload=find_workload(run.target, inventory.root).record,
    )
    task = Task(run.target, inventory, plan, files, cause, manifest, manifest)
    return carry_out(task, _no_content, (), lambda: None, run.stages, run.agree)


def _no_content(operation: Operation) -> Iterator[bytes]:
    """A revert brings nothing of its own: every content is kept in the target."""
    raise AssertionError(f"a revert has no content for {operation.destination}")


def _result(
    target: Contact, inventory: Inventory, plan: Plan, manifest: Manifest | None, stages: Stages
) -> Result:
    """The result as planned; what became of it is filled in by the caller."""
    return Result(
        command="revert",
        outcome="planned",
        exit_code=0,
        target=target_of(target),
        operations=operations_of(plan, overlay_of(manifest), inventory.root),
        timings_ms=stages.milliseconds(),
        details=about(target, inventory),
    )
