"""What one command did in several targets, told as one answer."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from overlaysync.errors import REFUSALS, AnotherTargetError
from overlaysync.model.problem import EXIT_CODE_ORDER
from overlaysync.model.result import Outcome, Result

WORST_FIRST: tuple[Outcome, ...] = ("failed", "refused", "applied", "planned", "unchanged")
_FAILED_WHILE_APPLYING = 8
_HELD_BACK = AnotherTargetError.default_code


def as_one(command: str, results: Sequence[Result]) -> Result:
    """The answer for all: the gravest outcome, every problem once, and the exit code of a single target.

    A target that was held back by another one has exit code and outcome of that one, which is not held back.
    """
    free = [result for result in results if not is_held_back(result)]
    codes = {result.exit_code for result in free}
    order = (_FAILED_WHILE_APPLYING, *EXIT_CODE_ORDER)
    code = next((code for code in order if code in codes), max(codes))
    ended: Outcome = "refused" if code in REFUSALS else "failed"
    told = [
        structs.replace(item, exit_code=code, outcome=ended) if is_held_back(item) else item
        for item in results
    ]
    outcome = min((result.outcome for result in told), key=WORST_FIRST.index)
    return Result(
        command=command,
        outcome=outcome,
        exit_code=code,
        problems=tuple(dict.fromkeys(problem for result in free for problem in result.problems)),
        not_packaged=tuple(dict.fromkeys(path for result in free for path in result.not_packaged)),
        targets=tuple(told),
    )


def is_held_back(result: Result) -> bool:
    """Whether a target is as it was only because of another one."""
    return any(problem.code == _HELD_BACK for problem in result.problems)
