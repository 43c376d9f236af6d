"""One use case in several targets at once; where it changes them, in all of them or in none."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from msgspec import Struct, structs

from overlaysync.app.calling import Call
from overlaysync.app.contact import Contact, contact, resolved
from overlaysync.app.options import Options, Stage
from overlaysync.app.reading import WorktreeReading, read_worktree
from overlaysync.app.report import failure_of, target_of
from overlaysync.app.timing import Stages
from overlaysync.app.together import Agree, Together, unasked
from overlaysync.core.several import as_one
from overlaysync.errors import AgentBugError, AnotherTargetError, LockedError, OverlaysyncError, UsageError
from overlaysync.model.ahead import Ahead
from overlaysync.model.result import Result, ResultTarget
from overlaysync.worktree.worktree import Worktree

T = TypeVar("T")
U = TypeVar("U")


class Run(Struct, frozen=True):
    """A use case in one target, which agrees with the others before each step that changes something."""

    target: Contact
    options: Options
    stages: Stages
    agree: Agree = unasked


Use = Callable[[Run], Result]
UseOfWorktree = Callable[[Run, Worktree, WorktreeReading | None], Result]
"""With what was read of the worktree already (see ``reading.read``)."""


class Reached(Struct, frozen=True):
    """How far a target's run is, and what was found there, or why nothing was."""

    call: Call
    stages: Stages
    found: Contact | OverlaysyncError

    @property
    def name(self) -> str:
        return self.call.options.container or ""


def in_targets_of_worktree(command: str, calls: Sequence[Call], stage: Stage, use: UseOfWorktree) -> Result:
    """``in_targets`` of what needs the worktree, which is read once. Raises BaselineError too."""
    with calls[0].looking() as worktree:
        read: list[WorktreeReading] = []

        def read_first(target: Contact) -> None:
            read.append(read_worktree(target, worktree, calls[0].options, stage))

        return in_targets(
            command, calls, stage, lambda run: use(run, worktree, read[0] if read else None), read_first
        )


def in_targets(
    command: str,
    calls: Sequence[Call],
    stage: Stage,
    use: Use,
    read_first: Callable[[Contact], None] = lambda _: None,
) -> Result:
    """The result of the only target; of several, one for all with each one's own in ``targets``.

    ``read_first``: called with the first contact of several, while no thread of theirs is at work.

    Raises what ends the run: of several targets, UsageError where two of them are one, and whatever
    ``read_first`` raises. In each of them everything that was not recorded is rolled back then.
    """
    stages = Stages(stage)
    if len(calls) == 1:
        return use(Run(contact(calls[0], stages), calls[0].options, stages))
    together = Together(len(calls))

    def end() -> None:
        """Each agent hears of it, and rolls back; but where all have agreed, which is done in a moment."""
        if together.give_up(command):
            for call in calls:
                call.close()

    try:
        reached = _at_once(partial(_reach, stage=_in_turn(stage)), calls, end)
        found = [one.found for one in reached if isinstance(one.found, Contact)]
        _refuse_same(reached)
        for one in reached:
            if isinstance(one.found, OverlaysyncError):
                together.give_up(one.name)
        if found:
            read_first(found[0])
        results = _at_once(partial(_use, command=command, use=use, together=together), reached, end)
    except BaseException:
        end()
        raise
    return structs.replace(as_one(command, results), timings_ms=stages.milliseconds())


def _at_once(work: Callable[[T], U], items: Sequence[T], end: Callable[[], None]) -> list[U]:
    """What comes of each, in threads. Raises the first error of one, when all have ended.

    ``end``: ends what they do; called at an interrupt, a second of which is not waited for.
    """
    begun = [Ahead(partial(work, item)) for item in items]
    try:
        for one in begun:
            one.wait()
    except BaseException:
        end()
        for one in begun:
            one.wait()
        raise
    return [one.result() for one in begun]


def _in_turn(stage: Stage) -> Stage:
    """The same for several threads."""
    turn = threading.Lock()

    def told(name: str) -> None:
        with turn:
            stage(name)

    return told


def _reach(call: Call, stage: Stage) -> Reached:
    stages = Stages(lambda text: stage(f"{call.options.container}: {text}"))
    try:
        return Reached(call, stages, contact(call, stages))
    except OverlaysyncError as error:
        return Reached(call, stages, error)


def _refuse_same(reached: Sequence[Reached]) -> None:
    """One of them would find the other's lock. Raises UsageError."""
    names: dict[str, str] = {}
    for one in reached:
        if isinstance(one.found, Contact):
            first = names.setdefault(_place_of(one.found), one.name)
            if first != one.name:
                raise UsageError(f"{first!r} and {one.name!r} are the same target", "name each of them once")


def _place_of(found: Contact) -> str:
    if found.identity.kind != "local":
        return found.identity.container_id
    return resolved(found.distribution.place or found.distribution.root)


def _use(reached: Reached, *, command: str, use: Use, together: Together) -> Result:
    found, stages = reached.found, reached.stages
    if isinstance(found, OverlaysyncError):
        kind, separator, name = reached.name.partition(":")
        named = ResultTarget(kind, name) if separator else ResultTarget("docker", reached.name)
        return failure_of(command, found, named)

    def agree() -> float:
        stages("waiting for the other targets")
        # an agent that nobody speaks to ends after a while
        return together.agree(reached.name, found.changed_at)

    try:
        result = use(Run(found, reached.call.options, stages, agree))
    except BaseException as error:
        if not isinstance(error, OverlaysyncError) or isinstance(error, AgentBugError):
            together.give_up(reached.name)
            raise
        if isinstance(error, AnotherTargetError):
            error.also("; this one is as it was")
        if isinstance(error, LockedError):
            error.also("; or another target of this command shares it, as by a volume: then name one of them")
        recovered = found.session.recovered
        result = failure_of(command, error, target_of(found), {"recovered": recovered})
    if result.outcome in ("refused", "failed"):
        together.give_up(reached.name)
    else:
        together.leave()
    return result
