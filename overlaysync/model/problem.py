"""Problems: why one path, or the run, cannot go on."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from overlaysync.model.problem_kinds import PROBLEM_KINDS, ProblemKind


class Problem(Struct, frozen=True):
    """One reason to refuse, for one path or (``path`` None) for the run."""

    code: str
    message: str
    next_step: str
    path: str | None = None
    certain: bool = False  # it cannot be otherwise here, so that nobody can accept it

    @property
    def kind(self) -> ProblemKind:
        return PROBLEM_KINDS[self.code]

    @property
    def risk(self) -> str | None:
        """The class of risk that ``--acknowledge`` takes to lift it; None for what stands in any case."""
        return None if self.certain else self.kind.acknowledge


EXIT_CODE_ORDER = (4, 7, 6, 3, 5)
"""With several kinds of problem the first of these that applies is the exit code."""


def exit_code(problems: Iterable[Problem]) -> int:
    """The exit code of a refusal; 0 without problems."""
    codes = {problem.kind.exit_code for problem in problems}
    return next((code for code in EXIT_CODE_ORDER if code in codes), max(codes, default=0))
