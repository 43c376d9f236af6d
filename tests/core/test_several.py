"""What a command did in several targets, as one answer."""

from __future__ import annotations

import pytest

from overlaysync.core.several import as_one
from overlaysync.model.result import Outcome, Result, ResultProblem, ResultTarget

APPLIED, UNCHANGED = ("applied", 0, ()), ("unchanged", 0, ())
WORKLOAD, BASELINE = ("refused", 6, ("workload",)), ("refused", 4, ("head-differs",))
LOST, BROKEN, HELD = (
    ("failed", 7, ("agent-lost",)),
    ("failed", 8, ("read-back",)),
    ("failed", 8, ("another-target",)),
)
Told = tuple[str, int, tuple[str, ...]]


def result(outcome: Outcome, exit_code: int, codes: tuple[str, ...]) -> Result:
    problems = tuple(ResultProblem(code, None, code, "do this") for code in codes)
    return Result("push", outcome, exit_code, target=ResultTarget("docker", "x"), problems=problems)


def told(one: Result) -> Told:
    return one.outcome, one.exit_code, tuple(problem.code for problem in one.problems)


@pytest.mark.parametrize(
    ("each", "all_of_them"),
    [
        ([APPLIED, APPLIED], APPLIED),
        ([UNCHANGED, APPLIED], APPLIED),
        ([UNCHANGED, UNCHANGED], UNCHANGED),
        ([WORKLOAD, BASELINE], ("refused", 4, ("workload", "head-differs"))),
        ([WORKLOAD, WORKLOAD], WORKLOAD),
        ([WORKLOAD, LOST], ("failed", 7, ("workload", "agent-lost"))),
        ([BASELINE, BROKEN], ("failed", 8, ("head-differs", "read-back"))),
        ([APPLIED, LOST], LOST),
        ([("planned", 1, ()), UNCHANGED], ("planned", 1, ())),
        ([HELD, WORKLOAD], WORKLOAD),
        ([HELD, BROKEN, HELD], BROKEN),
    ],
)
def test_the_gravest_outcome_and_its_exit_code(each: list[Told], all_of_them: Told) -> None:
    answer = as_one("push", [result(*one) for one in each])  # type: ignore[arg-type]
    assert told(answer) == all_of_them


def test_one_that_was_held_back_ends_as_the_one_that_held_it_back() -> None:
    answer = as_one("push", [result(*HELD), result(*WORKLOAD), result(*UNCHANGED)])  # type: ignore[arg-type]
    assert [told(one) for one in answer.targets] == [("refused", 6, ("another-target",)), WORKLOAD, UNCHANGED]
