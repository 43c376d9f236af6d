"""``status``: the pipeline up to the plan; nothing is written but what recovers an interrupted run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec import structs

from overlaysync.app.calling import Call
from overlaysync.app.contact import Contact
from overlaysync.app.options import Stage
from overlaysync.app.read_back import read_back
from overlaysync.app.reading import WorktreeReading
from overlaysync.app.report import result_of
from overlaysync.app.several import Run, in_targets_of_worktree
from overlaysync.app.survey import Situation, survey
from overlaysync.app.timing import Stages
from overlaysync.app.transact import expected_after
from overlaysync.model.problem import Problem
from overlaysync.model.result import Outcome, Result
from overlaysync.worktree.worktree import Worktree

FINDINGS = (4, 5)
"""Kinds of problem that are findings whatever is pending: the baseline, and the target's content."""


def status(calls: Sequence[Call], stage: Stage, *, ported: bool = False, check: bool = False) -> Result:
    """What a push would do, and what is in its way.

    The exit code is 1 with findings: a baseline or drift problem; with ``check`` anything pending too.
    ``ported``: of what would be carried onto the image commit first; nothing of that stays.
    """
    use = partial(_status, check=check)
    if not ported:
        return in_targets_of_worktree("status", calls, stage, use)
    from overlaysync.app.port import use_carried

    result = use_carried("status", calls[0], stage, use, dry_run=True)
    if result.outcome != "refused":
        return result
    code = 1 if check or result.exit_code in FINDINGS else 0
    return structs.replace(result, outcome="planned", exit_code=code)


def _status(run: Run, worktree: Worktree, looked: WorktreeReading | None = None, *, check: bool) -> Result:
    target, stages = run.target, run.stages
    situation = _read_back(target, survey(target, worktree, run.options, stages, looked), stages)
    pending = bool(situation.plan.operations or situation.problems)
    outcome: Outcome = "planned" if pending else "unchanged"
    code = _exit_code(situation.problems, pending=pending, check=check)
    return result_of("status", outcome, code, target, situation, stages.milliseconds())


def _exit_code(problems: Sequence[Problem], *, pending: bool, check: bool) -> int:
    found = any(problem.kind.exit_code in FINDINGS for problem in problems)
    return 1 if found or (check and pending) else 0


def _read_back(target: Contact, situation: Situation, stages: Stages) -> Situation:
    """With nothing to do, what is there is proven as a push would: "nothing to do" is no guess."""
    if situation.plan.operations or not situation.plan.overlay:
        return situation
    stages("reading back")
    overlay = situation.reading.overlay
    told = {problem.path for problem in situation.problems if problem.code == "original-differs"}
    expected = {
        path: sha256
        for path, sha256 in expected_after(situation.plan, overlay).items()
        if path not in told and (path not in overlay or overlay[path].source not in told)
    }
    proof = read_back(target, situation.reading.inventory, expected)
    return structs.replace(situation, problems=(*situation.problems, *proof.problems))
