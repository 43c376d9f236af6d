"""All faults of one kind in one change set, and what came of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from overlaysync.errors import OverlaysyncError
from tests.agent.conftest import supported
from tests.faults.change_sets import CHANGE_SETS
from tests.faults.full_disk import SmallDisk
from tests.faults.kinds import FULL, Kind, faults
from tests.faults.stage import Outcome, Stage, WrongOutcomeError

Result = tuple[str, Outcome | Exception]
"""What was done, and what came of it or was wrong."""


@dataclass
class Tally:
    """``met``: how often each system call met each effect. ``wrong``: what is neither old nor new."""

    change_set: str
    kind: Kind
    points: int = 0
    old: int = 0
    new: int = 0
    recovered: int = 0
    met: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def count(self, label: str, outcome: Outcome | Exception) -> None:
        self.points += 1
        if isinstance(outcome, Exception):
            self.wrong.append(f"{label}: {outcome}")
            return
        self.old += not outcome.is_new
        self.new += outcome.is_new
        self.recovered += outcome.recovered is not None


def judge(directory: Path, turn: int, kind: Kind) -> Tally:
    """``turn``: which change set, and where the rotation of errors begins. ``directory`` is made for it."""
    directory.mkdir(parents=True)
    change_set = CHANGE_SETS[turn]
    stage = Stage(directory, next(iter(supported().values())), change_set)
    tally = Tally(change_set.name, kind)
    try:
        for label, outcome in _fill_up(stage, kind) if kind in FULL else _inject(stage, kind, turn, tally):
            tally.count(label, outcome)
    finally:
        stage.close()
    return tally


def _inject(stage: Stage, kind: Kind, turn: int, tally: Tally) -> Iterator[Result]:
    for fault in faults(stage, kind, turn):
        tally.met[fault.point.name, fault.effect] += 1
        try:
            yield str(fault), stage.strike(fault)
        except (WrongOutcomeError, OverlaysyncError) as error:
            yield str(fault), error


def _fill_up(stage: Stage, kind: Kind) -> Iterator[Result]:
    for inodes in (False, True):
        yield from SmallDisk(stage, layered=kind is Kind.FULL_LAYER, inodes=inodes).sweep()
