"""``push``: the worktree's difference becomes a proven overlay in the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from overlaysync.app.calling import Call
from overlaysync.app.contact import Contact, contact
from overlaysync.app.looking import Looking
from overlaysync.app.options import Options, Stage
from overlaysync.app.port import Source, push_carried
from overlaysync.app.read_back import read_back
from overlaysync.app.records import Cause, Task, digest_of_diff
from overlaysync.app.report import applied, result_of
from overlaysync.app.store import last_record
from overlaysync.app.survey import Situation, survey
from overlaysync.app.timing import Stages
from overlaysync.app.transact import carry_out, expected_after
from overlaysync.core.planning import is_in_place
from overlaysync.core.prepush import packages_of, unshipped_in
from overlaysync.errors import BaselineError
from overlaysync.model.manifest import Manifest
from overlaysync.model.plan import Operation
from overlaysync.model.problem import exit_code
from overlaysync.model.result import Result
from overlaysync.worktree.worktree import Worktree

Hold = Callable[[Situation], None]
"""Raises to give up; asked when everything is read, and again before anything is renamed."""


def push(call: Call, stage: Stage, *, dry_run: bool = False, source: Source | None = None) -> Result:
    """Reads everything, decides, and unless something stands in the way carries it out and proves it.

    ``source``: is carried onto the image commit first, and pushed from there.

    Raises every error of ``overlaysync.errors`` that ends a run; refusals are results.
    """
    stages = Stages(stage)
    if source is None:
        with call.looking() as worktree:
            return push_over(contact(call, stages), worktree, call.options, stages, dry_run=dry_run)
    target = contact(call, stages, ahead=False)

    def push_there(there: Options) -> Result:
        with Looking(there) as worktree:
            return push_over(target, worktree, there, stages, dry_run=dry_run)

    return push_carried(target, call.options, source, stages, push_there, dry_run=dry_run)


def push_over(
    target: Contact,
    worktree: Worktree,
    options: Options,
    stages: Stages,
    *,
    dry_run: bool = False,
    hold: Hold = lambda _: None,
) -> Result:
    """A push over a contact that is there already."""
    situation = survey(target, worktree, options, stages)
    hold(situation)
    if situation.problems:
        code = exit_code(situation.problems)
        return result_of("push", "refused", code, target, situation, stages.milliseconds())
    if dry_run:
        return result_of("push", "planned", 0, target, situation, stages.milliseconds())
    if is_in_place(situation.plan, situation.reading.overlay):
        return _unchanged(target, situation, stages)
    manifest = _apply(target, worktree, situation, options, stages, hold)
    return applied(result_of("push", "planned", 0, target, situation, {}), manifest, options, stages)


def _unchanged(target: Contact, situation: Situation, stages: Stages) -> Result:
    """Nothing to do is proven like something done."""
    stages("reading back")
    expected = expected_after(situation.plan, situation.reading.overlay)
    proof = read_back(target, situation.reading.inventory, expected)
    timings = stages.milliseconds()
    if proof.problems:
        code = exit_code(proof.problems)
        return result_of("push", "refused", code, target, situation, timings, problems=proof.problems)
    return result_of("push", "unchanged", 0, target, situation, timings)


def _apply(
    target: Contact,
    worktree: Worktree,
    situation: Situation,
    options: Options,
    stages: Stages,
    hold: Hold,
) -> Manifest:
    changes = {change.path: change for change in situation.reading.snapshot.changes}

    def last_look() -> None:
        hold(situation)
        if worktree.moved():
            raise BaselineError("HEAD moved during the push; nothing was changed", "run the command again")

    def content(operation: Operation) -> Iterator[bytes]:
        return worktree.stream(changes[operation.source])

    executable = [
        operation.destination
        for operation in situation.plan.operations
        if operation.source in changes and changes[operation.source].executable
    ]
    reading = situation.reading
    last = last_record(options, target, reading.manifest, reading.snapshot.repository.root)
    task = Task(
        target, reading.inventory, situation.plan, situation.files, _cause(situation), reading.manifest, last
    )
    return carry_out(task, content, executable, last_look, stages)


def _cause(situation: Situation) -> Cause:
    tree, shipped = situation.reading.snapshot.tree, situation.shipped.destinations
    packages = packages_of(tree, shipped)
    return Cause(
        command="push",
        repository=situation.reading.snapshot.repository,
        diff_sha256=digest_of_diff(situation.reading.snapshot.changes),
        baseline=situation.baseline,
        workload=situation.reading.workload.record,
        acknowledged=situation.acknowledged,
        not_packaged=situation.selection.not_packaged,
        packages=packages,
        unshipped=unshipped_in(tree, shipped, packages),
        left_out=situation.selection.left_out,
    )
