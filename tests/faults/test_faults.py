"""A selection of the injected faults; ``python -m tests.faults.report --all`` injects all of them."""

from __future__ import annotations

import os

import pytest

from tests.faults.change_sets import CHANGE_SETS
from tests.faults.conftest import Open
from tests.faults.full_disk import SmallDisk
from tests.faults.kinds import FULL, Kind, faults
from tests.faults.stage import Fault, Outcome

INJECTED = [kind for kind in Kind if kind not in FULL]
SAMPLE = 4

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


def sample(chosen: list[Fault]) -> list[Fault]:
    """Some of them, spread evenly, the first and the last included."""
    last = len(chosen) - 1
    return [chosen[last * number // (SAMPLE - 1)] for number in range(SAMPLE)]


@pytest.mark.parametrize("turn", range(len(CHANGE_SETS)), ids=[item.name for item in CHANGE_SETS])
def test_every_change_set_meets_faults_of_one_kind(open_stage: Open, turn: int) -> None:
    stage = open_stage(CHANGE_SETS[turn].name)
    chosen = sample(list(faults(stage, INJECTED[turn % len(INJECTED)], turn)))
    assert {stage.strike(fault).is_new for fault in chosen} == {False, True}


def test_the_points_are_those_of_the_protocol(open_stage: Open) -> None:
    stage = open_stage("everything at once, on an overlay")
    names = {point.name for point in stage.points}
    assert names >= {"renameat", "linkat", "unlinkat", "mkdirat", "openat", "fsync", "fchmod", "write"}
    assert len([point for point in stage.points if point.changes]) > 60


@as_root
@pytest.mark.parametrize("layered", [False, True], ids=["disk", "layer"])
@pytest.mark.parametrize("inodes", [False, True], ids=["pages", "inodes"])
def test_the_disk_is_full(open_stage: Open, layered: bool, inodes: bool) -> None:
    stage = open_stage("a package becomes a module")
    outcomes = [outcome for _, outcome in SmallDisk(stage, layered, inodes).sweep()]
    assert [item for item in outcomes if not isinstance(item, Outcome)] == []
    assert len(outcomes) > 2
