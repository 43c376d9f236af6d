"""What a watch says of each look, and what follows from it: nothing is said twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timezone

from msgspec import Struct

from overlaysync.core.addressing import Addressee
from overlaysync.errors import (
    ApplyError,
    BaselineError,
    LockedError,
    OverlayDamagedError,
    OverlaysyncError,
    SupersededError,
    TargetError,
    UnfinishedError,
    UsageError,
    WorkloadError,
    WorktreeChangedError,
)
from overlaysync.model.moment import Event, Moment
from overlaysync.model.problem_kinds import PROBLEM_KINDS
from overlaysync.model.result import Result, ResultOperation, ResultProblem

WORKLOAD = frozenset({"workload", "workload-unknown"})
UNSTABLE, UNSTABLE_SECONDS = {"unstable-file"}, 5.0
"""A file that is written to for so long is told."""
HELD_SECONDS = 0.05
REFUSED_SECONDS, OF_TARGETS_FILES = 15.0, 5
"""No event tells what somebody mends in the target by hand; problems of this exit code are of that kind."""
NAMED = 3

AFTER_ERROR: tuple[tuple[type[OverlaysyncError], Event, float | None], ...] = (
    (SupersededError, "paused", None),
    (LockedError, "waiting", 1.0),
    (WorkloadError, "waiting", 0.5),
    (WorktreeChangedError, "waiting", HELD_SECONDS),
    (ApplyError, "failed", 5.0),
    (BaselineError, "paused", None),
    (TargetError, "lost", 2.0),
    (OverlayDamagedError, "refused", None),
    (UsageError, "refused", None),
)
"""What an error means here, and after how many seconds another look is worth it without any event."""
CHANGED = "not this worktree's state any more"
UNSEEN = "changed by somebody else, and not looked at since"
IN_TARGET: tuple[tuple[type[OverlaysyncError], str], ...] = (
    (SupersededError, CHANGED),
    (TargetError, "not known any more"),
    (OverlayDamagedError, "not known any more"),
    (UnfinishedError, "neither the old files nor these, as long as it is not settled"),
)
"""What is in the target where an error ended the look; of the others, what was proven last."""
NOT_AS_PROVEN = frozenset({"original-differs", "content-differs"})
"""Codes of problems by which a look finds that the target's files are others than it left there."""


def after(error: OverlaysyncError) -> tuple[Event, float | None]:
    """What an error is told as, and after how many seconds another look is worth it; None: not by itself."""
    found = ((event, again) for kind, event, again in AFTER_ERROR if isinstance(error, kind))
    return next(found, ("failed", None))


def moment(event: Event, message: str, **more: object) -> Moment:
    """What is told now."""
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    return Moment(event=event, time=now, message=message, **more)  # type: ignore[arg-type]


class Outcome(Struct, frozen=True):
    """``told``: the look found something new. ``again``: seconds until another look is due; None for long.

    ``unsettled``: the change went on while it was looked at, and is still to be pushed.
    """

    told: bool
    again: float | None = None
    unsettled: bool = False


class Teller:
    """Remembers what was said last, and of which container. ``addressee``: whom next steps name."""

    def __init__(self, tell: Callable[[Moment], None], addressee: Addressee) -> None:
        self._tell = tell
        self._addressee = addressee
        self._said: tuple[Event, str, object] | None = None
        self._proven: dict[str, str | None] = {}  # the overlay's manifest, once one or none was proven
        self._container: str | None = None

    @property
    def last(self) -> Event | None:
        return self._said[0] if self._said is not None else None

    def say(self, event: Event, message: str, **more: object) -> bool:
        """Tells what was not said the last time; whether it was."""
        said = (event, message, more.get("in_target"))
        if said == self._said:
            return False
        self._said = said
        self._tell(moment(event, message, **more))
        return True

    def result(self, result: Result, since: float | None) -> Outcome:
        """Tells what a push came to. ``since``: when the change began (monotonic)."""
        held = {name: result.details[name] for name in ("overlay_manifest",) if name in result.details}
        if result.outcome == "applied":
            self._proven = held
            return Outcome(told=self._applied(result, since))
        if result.outcome == "unchanged":
            self._proven = held
            self._remember(result)
            return Outcome(told=self._unchanged(result))
        result = self._addressee.result(result)
        codes = {problem.code for problem in result.problems}
        going_on = since is not None and time.monotonic() - since < UNSTABLE_SECONDS
        if codes == UNSTABLE and going_on:
            return Outcome(told=False, again=HELD_SECONDS, unsettled=True)  # it goes on by itself
        first = result.problems[0]
        waits = codes <= WORKLOAD
        event: Event = "waiting" if waits else "paused" if "head-differs" in codes else "refused"
        shown = [_sentence(problem) for problem in result.problems[:NAMED]]
        more = len(result.problems) - len(shown)
        message = "; ".join([*shown, f"and {more} more"] if more else shown)
        another = bool(self._proven and held and held != self._proven)
        holds = CHANGED if another or codes & NOT_AS_PROVEN else None
        told = self.say(event, message, next_step=first.next_step, result=result, in_target=holds)
        in_target = any(PROBLEM_KINDS[code].exit_code == OF_TARGETS_FILES for code in codes)
        return Outcome(told=told, again=0.5 if waits else REFUSED_SECONDS if in_target else None)

    def error(self, error: OverlaysyncError, in_target: str | None = None) -> Outcome:
        """Tells what ended a look. ``in_target``: of the target, where the error does not say more."""
        event, again = after(error)
        if isinstance(error, WorktreeChangedError):
            return Outcome(told=False, again=again, unsettled=True)  # it goes on by itself
        holds = next((holds for kind, holds in IN_TARGET if isinstance(error, kind)), in_target)
        step = None if error.next_step is None else self._addressee.step(error.next_step)
        told = self.say(event, error.message, next_step=step, in_target=holds)
        return Outcome(told=told, again=again)

    def _applied(self, result: Result, since: float | None) -> bool:
        names = [_done(operation) for operation in result.operations]
        shown = ", ".join([*names[:NAMED], f"and {len(names) - NAMED} more"] if len(names) > NAMED else names)
        latency = None if since is None else round((time.monotonic() - since) * 1000, 1)
        again = " again, into another container" if self._remember(result) else ""
        self._said = None  # two alike are two
        return self.say("applied", f"applied{again}: {shown}", latency_ms=latency, result=result)

    def _unchanged(self, result: Result) -> bool:
        if self.last in ("applied", "unchanged"):
            return False
        return self.say("unchanged", "the worktree's state is in the target, proven", result=result)

    def _remember(self, result: Result) -> bool:
        """Whether the container is another than before."""
        container = result.target.container_id if result.target is not None else None
        before, self._container = self._container, container
        return before not in (None, container)


def _done(operation: ResultOperation) -> str:
    """The file, and what became of it where it does not hold what was saved."""
    if operation.installed_sha256 is None:
        return f"{operation.source} (removed)"
    back = operation.installed_sha256 == operation.original_sha256
    return f"{operation.source} (original again)" if back else operation.source


def _sentence(problem: ResultProblem) -> str:
    named = problem.path is None or problem.path in problem.message
    return problem.message if named else f"{problem.path}: {problem.message}"
