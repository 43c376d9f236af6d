"""Kinds of faults: what is done to the agent, and at which points of its work."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path

from tests.faults.stage import Fault, Stage, untimed
from tests.faults.tracing import Point

ERRORS = ("EIO", "ENOSPC", "EACCES", "EPERM", "EROFS", "EBUSY", "ENAMETOOLONG")
LASTING_ERRORS = ("EROFS", "EIO")
KILL = "signal=SIGKILL"


class Kind(Enum):
    """The value is what the report calls it."""

    KILLED = "killed"
    ERROR = "one call fails"
    LASTING = "every change fails from there on"
    KILLED_RECOVERY = "killed, and the recovery is killed"
    ERROR_RECOVERY = "killed, and a call of the recovery fails"
    LASTING_RECOVERY = "killed, and every change of the recovery fails"
    FULL_DISK = "the disk is full"
    FULL_LAYER = "the container's layer is full"


FULL = frozenset({Kind.FULL_DISK, Kind.FULL_LAYER})

Effect = Callable[[Point, int], tuple[str, list[str]]]
"""What happens at a point, in words and as injections of strace; told which of its name's points it is."""


def killed(point: Point, _number: int) -> tuple[str, list[str]]:
    return "SIGKILL", point.once(KILL)


def fails(point: Point, number: int) -> tuple[str, list[str]]:
    error = ERRORS[number % len(ERRORS)]
    return error, point.once(f"error={error}")


def fails_from_here(point: Point, number: int) -> tuple[str, list[str]]:
    error = LASTING_ERRORS[number % len(LASTING_ERRORS)]
    return f"lasting {error}", point.from_here(f"error={error}")


EFFECTS: dict[Kind, Effect] = {
    Kind.KILLED: killed,
    Kind.ERROR: fails,
    Kind.LASTING: fails_from_here,
    Kind.KILLED_RECOVERY: killed,
    Kind.ERROR_RECOVERY: fails,
    Kind.LASTING_RECOVERY: fails_from_here,
}


def faults(stage: Stage, kind: Kind, turn: int) -> Iterator[Fault]:
    """All faults of a kind in a change set. ``turn`` begins the rotation of the errors."""
    if kind in (Kind.KILLED, Kind.ERROR, Kind.LASTING):
        yield from _at(stage.points, kind, turn, stage.base, recovering=False)
        return
    for start in list(interrupted(stage)):
        recovery = stage.count(stage.copy(start), stage.contact)
        yield from _at(recovery, kind, turn, start, recovering=True)


def _at(points: list[Point], kind: Kind, turn: int, start: Path, *, recovering: bool) -> Iterator[Fault]:
    """A call that only reads is no point but for an error: a kill there is a kill at the next one."""
    one_call = kind in (Kind.ERROR, Kind.ERROR_RECOVERY)
    for number, point in enumerate(point for point in points if one_call or point.changes):
        effect, injections = EFFECTS[kind](point, turn + number)
        yield Fault(point, effect, injections, start, recovering)


def interrupted(stage: Stage) -> Iterator[Path]:
    """What kills leave: in the middle of the work, right before the commit point, and right after it."""
    commit = commit_point(stage)
    for index in (commit * 2 // 3, commit - 1, commit):
        start = stage.directory / f"killed at {stage.points[index]}"
        if not start.exists():
            kill(stage, index)
            stage.keep(start)
        yield start


def commit_point(stage: Stage) -> int:
    """The first point where a kill leaves the new tree to the next contact."""

    def leaves_the_new_tree(index: int) -> bool:
        kill(stage, index)
        with stage.server.session() as session:
            stage.contact(stage.site(stage.account), session)
        return untimed(stage.look()[0]) == untimed(stage.new)

    return bisect_left(range(len(stage.points)), True, key=leaves_the_new_tree)


def kill(stage: Stage, index: int) -> None:
    point = stage.points[index]
    stage.suffer(stage.copy(stage.base), Fault(point, "SIGKILL", point.once(KILL), stage.base))
