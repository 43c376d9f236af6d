"""``push``: the worktree's difference becomes a proven overlay in the target."""

from __future__ import annotations

from collections.abc import Iterator

from overlaysync.app.contact import Contact, contact
from overlaysync.app.options import Options, Stage
from overlaysync.app.read_back import read_back
from overlaysync.app.reading import refuse_workload
from overlaysync.app.records import Cause, Task, digest_of_diff
from overlaysync.app.report import applied, result_of
from overlaysync.app.survey import Situation, survey
from overlaysync.app.timing import Stages
from overlaysync.app.transact import carry_out, expected_after
from overlaysync.core.modules import judge_place, module_name
from overlaysync.core.planning import is_in_place
from overlaysync.errors import BaselineError
from overlaysync.model.manifest import Manifest
from overlaysync.model.plan import Operation
from overlaysync.model.problem import Problem, exit_code
from overlaysync.model.result import Result
from overlaysync.state.directories import cache_directory
from overlaysync.worktree.worktree import Worktree, open_worktree


def push(options: Options, stage: Stage, *, dry_run: bool = False) -> Result:
    """Reads everything, decides, and unless something stands in the way carries it out and proves it.

    Raises every error of ``overlaysync.errors`` that ends a run; refusals are results.
    """
    stages = Stages(stage)
    with (
        open_worktree(options.worktree, cache_directory()) as worktree,
        contact(options, stages) as target,
    ):
        situation = survey(target, worktree, options, stages)
        problems = situation.problems or _shadowed(target, situation, stages)
        if problems:
            timings = stages.milliseconds()
            return result_of(
                "push", "refused", exit_code(problems), target, situation, timings, problems=problems
            )
        if dry_run:
            return result_of("push", "planned", 0, target, situation, stages.milliseconds())
        if is_in_place(situation.plan, situation.reading.overlay):
            return _unchanged(target, situation, stages)
        manifest = _apply(target, worktree, situation, stages)
        return applied(result_of("push", "planned", 0, target, situation, {}), manifest, options, stages)


def _shadowed(target: Contact, situation: Situation, stages: Stages) -> tuple[Problem, ...]:
    """Modules that are there already must resolve to their destination before anything is written.

    Their code is not judged here: stale bytecode is dropped with the write, and judged by the read-back.
    """
    existing = [item.destination for item in situation.plan.operations if item.before is not None]
    modules = {path: name for path in existing if (name := module_name(path)) is not None}
    if not modules:
        return ()
    stages("asking what is imported")
    found, _ = target.session.read_back(target.interpreter.path, target.setting, list(modules.values()), [])
    root = situation.reading.inventory.root
    judged = (
        judge_place(resolution, f"{root}/{path}", path)
        for path, resolution in zip(modules, found, strict=True)
    )
    return tuple(problem for problem in judged if problem is not None)


def _unchanged(target: Contact, situation: Situation, stages: Stages) -> Result:
    """Nothing to do is proven like something done."""
    stages("reading back")
    object_format = situation.reading.snapshot.repository.object_format
    proof = read_back(target, situation.reading.inventory.root, expected_after(situation.plan), object_format)
    timings = stages.milliseconds()
    if proof.problems:
        code = exit_code(proof.problems)
        return result_of("push", "refused", code, target, situation, timings, problems=proof.problems)
    return result_of("push", "unchanged", 0, target, situation, timings)


def _apply(target: Contact, worktree: Worktree, situation: Situation, stages: Stages) -> Manifest:
    changes = {change.path: change for change in situation.reading.snapshot.changes}

    def last_look() -> None:
        if worktree.moved():
            raise BaselineError("HEAD moved during the push; nothing was changed", "run the command again")
        refuse_workload(target, situation.reading.inventory)

    def content(operation: Operation) -> Iterator[bytes]:
        return worktree.stream(changes[operation.source])

    executable = [
        operation.destination
        for operation in situation.plan.operations
        if operation.source in changes and changes[operation.source].executable
    ]
    reading = situation.reading
    task = Task(
        target, reading.inventory, situation.plan, situation.files, _cause(situation), reading.manifest
    )
    return carry_out(task, content, executable, last_look, stages)


def _cause(situation: Situation) -> Cause:
    return Cause(
        command="push",
        repository=situation.reading.snapshot.repository,
        diff_sha256=digest_of_diff(situation.reading.snapshot.changes),
        baseline=situation.baseline,
        workload=situation.reading.workload.record,
        acknowledged=situation.acknowledged,
        not_packaged=situation.selection.not_packaged,
        left_out=situation.selection.left_out,
    )
