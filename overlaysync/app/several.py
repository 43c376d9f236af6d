"""One use case in several targets at once; where it changes them, in all of them or in none."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from msgspec import Struct, structs

from overlaysync.app.calling import Call
from overlaysync.app.contact import Contact, contact
from overlaysync.app.options import Options, Stage
from overlaysync.app.reading import WorktreeReading, read_worktree
from overlaysync.app.report import failure_of, target_of
from overlaysync.app.timing import Stages
from overlaysync.app.together import Agree, Together, alone
from overlaysync.core.several import as_one
from overlaysync.errors import OverlaysyncError, UsageError
from overlaysync.model.ahead import Ahead
from overlaysync.model.result import Result, ResultTarget
from overlaysync.model.target import TargetIdentity
from overlaysync.worktree.worktree import Worktree

T = TypeVar("T")
U = TypeVar("U")


class Run(Struct, frozen=True):
    """A use case in one target, which agrees with the others before each step that changes something."""

    target: Contact
    options: Options
    stages: Stages
    agree: Agree = alone


Use = Callable[[Run], Result]
UseOfWorktree = Callable[[Run, Worktree, WorktreeReading | None], Result]
"""With what was read of the worktree already (see ``reading.read``)."""
Reached = tuple[Call, Stages, Contact | OverlaysyncError]
"""How far a target's run is, and what was found there, or why nothing was."""


def in_targets_of_worktree(command: str, calls: Sequence[Call], stage: Stage, use: UseOfWorktree) -> Result:
    """``in_targets`` of what needs the worktree, which is read once. Raises BaselineError too."""
    with calls[0].looking() as worktree:
        read: list[WorktreeReading] = []

        def before(target: Contact) -> None:
            read.append(read_worktree(target, worktree, stage))

        return in_targets(
            command, calls, stage, lambda run: use(run, worktree, read[0] if read else None), before
        )


def in_targets(
    command: str,
    calls: Sequence[Call],
    stage: Stage,
    use: Use,
    before: Callable[[Contact], None] = lambda _: None,
) -> Result:
    """The result of the only target; of several, one for all with each one's own in ``targets``.

    ``before``: called with the first contact of several, while no thread of theirs is at work.

    Raises what ends the run: of several targets, UsageError where two of them are one, and whatever
    ``before`` raises. In each of them everything that was not recorded is rolled back then.
    """
    stages = Stages(stage)
    if len(calls) == 1:
        return use(Run(contact(calls[0], stages), calls[0].options, stages))
    together = Together(len(calls))
    try:
        reached = _at_once(partial(_reach, stage=_in_turn(stage)), calls)
        found = [there for _, _, there in reached if isinstance(there, Contact)]
        _refuse_same(reached)
        if len(found) < len(reached):
            together.give_up()
        if found:
            before(found[0])
        results = _at_once(partial(_use, command=command, use=use, together=together), reached)
    except BaseException:
        together.give_up()
        for call in calls:
            call.close()  # each agent hears of it, and rolls back
        raise
    return structs.replace(as_one(command, results), timings_ms=stages.milliseconds())


def _at_once(work: Callable[[T], U], items: Sequence[T]) -> list[U]:
    """What comes of each, in threads. Raises the first error of one, when all have ended."""
    begun = [Ahead(partial(work, item)) for item in items]
    for one in begun:
        one.wait()
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
        return call, stages, contact(call, stages)
    except OverlaysyncError as error:
        return call, stages, error


def _refuse_same(reached: Sequence[Reached]) -> None:
    """One lock is for one run: the second would wait for the first, and the first for it."""
    names: dict[str, str] = {}
    for call, _, there in reached:
        name = call.options.container or ""
        if isinstance(there, Contact) and names.setdefault(_place_of(there.identity), name) != name:
            first = names[_place_of(there.identity)]
            raise UsageError(f"{first!r} and {name!r} are the same target", "name each of them once")


def _place_of(identity: TargetIdentity) -> str:
    return os.path.realpath(identity.name) if identity.kind == "local" else identity.container_id


def _use(reached: Reached, *, command: str, use: Use, together: Together) -> Result:
    call, stages, there = reached
    if isinstance(there, OverlaysyncError):
        return failure_of(command, there, ResultTarget(kind="unknown", name=call.options.container or ""))
    try:
        result = use(Run(there, call.options, stages, together.agree))
    except OverlaysyncError as error:
        result = failure_of(command, error, target_of(there))
    except BaseException:
        together.give_up()
        raise
    if result.outcome in ("refused", "failed"):
        together.give_up()
    else:
        together.leave()
    return result
