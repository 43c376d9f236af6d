"""Stages under the oldest Python that the agent must run under."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agent.conftest import supported
from tests.faults.change_sets import CHANGE_SETS
from tests.faults.stage import Stage
from tests.faults.tracing import trouble_with_strace

TROUBLE = trouble_with_strace()

Open = Callable[[str], Stage]


def make_stage(directory: Path, name: str) -> Stage:
    """The stage of a change set, by its name; skips where nothing can be injected. Close it."""
    if TROUBLE is not None:
        pytest.skip(TROUBLE)
    change_set = next(item for item in CHANGE_SETS if item.name == name)
    return Stage(directory, next(iter(supported().values())), change_set)


@pytest.fixture
def open_stage(tmp_path: Path) -> Iterator[Open]:
    stages: list[Stage] = []

    def open_one(name: str) -> Stage:
        stages.append(make_stage(tmp_path, name))
        return stages[-1]

    yield open_one
    for stage in stages:
        stage.close()
