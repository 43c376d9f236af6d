"""Since when the program of a process is in memory, as far as the rows of all processes tell."""

from __future__ import annotations

from typing import Any

import pytest

from overlaysync.agent.loaded import since

Row = dict[str, Any]


def row(started: float, stack: int, *, forked: bool) -> Row:
    return {"started": started, "stack": stack, "forked": forked}


SERVER, CHILD = row(10.0, 7, forked=False), row(20.0, 7, forked=True)
SAME_TICK = row(10.0, 7, forked=True)
ALONE, BROTHER = row(20.0, 8, forked=True), row(30.0, 8, forked=True)
UNSEEN = row(20.0, 0, forked=True)  # another user's: its stack is not told


@pytest.mark.parametrize(
    ("rows", "loaded", "orphaned"),
    [
        ([SERVER], [10.0], [False]),
        ([SERVER, CHILD], [10.0, 10.0], [False, False]),
        ([SERVER, SAME_TICK], [10.0, 10.0], [False, False]),
        ([ALONE], [20.0], [True]),
        ([ALONE, BROTHER], [20.0, 20.0], [True, True]),
        ([SERVER, ALONE], [10.0, 20.0], [False, True]),
        ([SERVER, UNSEEN], [10.0, 20.0], [False, True]),
    ],
)
def test_a_fork_is_as_old_as_its_program(rows: list[Row], loaded: list[float], orphaned: list[bool]) -> None:
    found = since([dict(one) for one in rows])
    assert [one["loaded"] for one in found] == loaded
    assert [one["orphaned"] for one in found] == orphaned
    assert all(one.keys() == {"started", "loaded", "orphaned"} for one in found)
