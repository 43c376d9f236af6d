"""``push``: the worktree's difference becomes a proven overlay in the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from overlaysync.app.calling import Call
from overlaysync.app.contact import Contact
from overlaysync.app.options import Stage
from overlaysync.app.read_back import read_back
from overlaysync.app.reading import WorktreeReading
from overlaysync.app.records import Cause, Task, digest_of_diff
from overlaysync.app.report import applied, result_of
from overlaysync.app.several import Run, in_targets_of_worktree
from overlaysync.app.store import last_record
from overlaysync.app.survey import Situation, survey
from overlaysync.app.timing import Stages
from overlaysync.app.together import A_WHILE
from overlaysync.app.transact import carry_out, expected_after
from overlaysync.core.packages import packages_of, unshipped_in
from overlaysync.core.planning import is_in_place
from overlaysync.errors import BaselineError, TargetChangedError
from overlaysync.model.manifest import Manifest
from overlaysync.model.plan import Operation
from overlaysync.model.problem import exit_code
from overlaysync.model.result import Result
from overlaysync.worktree.worktree import Worktree

Hold = Callable[[Situation], None]
"""Raises to give up; asked when everything is read, and again before anything is renamed."""


def push(calls: Sequence[Call], stage: Stage, *, ported: bool = False, dry_run: bool = False) -> Result:
    """Reads everything, decides, and unless something stands in the way carries it out and proves it.

    ``ported``: what is carried onto the image commit first, into the only target.

    Raises every error of ``overlaysync.errors`` that ends a run (see ``in_targets``); refusals are results.
    """
    use = partial(push_over, dry_run=dry_run)
    if ported:
        from overlaysync.app.port import use_carried  # with all that lays commits onto others

        return use_carried("push", calls[0], stage, use, dry_run=dry_run)
    return in_targets_of_worktree("push", calls, stage, use)


def push_over(
    run: Run,
    worktree: Worktree,
    looked: WorktreeReading | None = None,
    *,
    dry_run: bool = False,
    hold: Hold = lambda _: None,
) -> Result:
    """A push over a contact that is there already. ``looked``: see ``read``."""
    target, stages = run.target, run.stages
    situation = survey(target, worktree, run.options, stages, looked)
    hold(situation)
    if situation.problems:
        code = exit_code(situation.problems)
        return result_of("push", "refused", code, target, situation, stages.milliseconds())
    if dry_run:
        return result_of("push", "planned", 0, target, situation, stages.milliseconds())
    if is_in_place(situation.plan, situation.reading.overlay):
        return _unchanged(target, situation, stages)
    if run.agree() > A_WHILE:
        _look_again(target, situation)
    manifest = _apply(run, worktree, situation, hold)
    return applied(result_of("push", "planned", 0, target, situation, {}), manifest, run.options, stages)


def _look_again(target: Contact, situation: Situation) -> None:
    """Raises TargetChangedError where the inventory is not the one that everything was proven of."""
    before = situation.reading.inventory
    now = target.open(situation.reading.snapshot.repository.object_format)
    if (now.files, now.record_sha256, now.manifest) != (before.files, before.record_sha256, before.manifest):
        raise TargetChangedError(
            "files of the distribution changed while other targets were waited for; nothing was written here",
            "run the command again",
        )


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


def _apply(run: Run, worktree: Worktree, situation: Situation, hold: Hold) -> Manifest:
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
    last = last_record(run.options, run.target, reading.manifest, reading.snapshot.repository.root)
    task = Task(
        run.target,
        reading.inventory,
        situation.plan,
        situation.files,
        _cause(situation),
        reading.manifest,
        last,
    )
    return carry_out(task, content, executable, last_look, run.stages, run.agree)


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
