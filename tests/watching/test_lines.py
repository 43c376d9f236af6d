"""A process that tells events is followed, ends with us, and is begun again when it ends."""

from __future__ import annotations

import queue
import sys

from overlaysync.errors import TargetError
from overlaysync.targets.pipes import ChildProcess
from overlaysync.watching.lines import LineEvents

TELL = "import time; print('start', flush=True); print('die', flush=True); time.sleep({seconds})"


def test_lines_are_told_and_the_process_ends_with_us() -> None:
    told: queue.Queue[str] = queue.Queue()
    child = ChildProcess([sys.executable, "-c", TELL.format(seconds=600)])
    events = LineEvents(lambda: child, told.put)
    assert [told.get(timeout=10), told.get(timeout=10)] == ["start", "die"]
    events.close()
    assert child.wait(10) is not None


def test_one_that_ends_is_begun_again() -> None:
    told: queue.Queue[str] = queue.Queue()
    events = LineEvents(lambda: ChildProcess([sys.executable, "-c", TELL.format(seconds=0)]), told.put)
    assert [told.get(timeout=10) for _ in range(6)] == ["start", "die", "", "start", "die", ""]
    events.close()


def test_one_that_cannot_be_started_is_tried_again() -> None:
    told: queue.Queue[str] = queue.Queue()

    def start() -> ChildProcess:
        raise TargetError("the engine's command is not installed")

    events = LineEvents(start, told.put)
    assert [told.get(timeout=10), told.get(timeout=10)] == ["", ""]
    events.close()


def test_nobody_tells() -> None:
    told: queue.Queue[str] = queue.Queue()
    LineEvents(lambda: None, told.put).close()
    assert told.empty()
