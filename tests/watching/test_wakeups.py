"""One sleeper: nothing is missed, quiet is waited for, and continuous noise has a bound."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from overlaysync.watching.wakeups import Wakeups


def later(seconds: float, action: Callable[[], None]) -> None:
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()


def test_what_came_before_the_wait_is_not_missed() -> None:
    wakeups = Wakeups()
    assert wakeups.wait(0.01) is False
    wakeups.wake()
    assert wakeups.wait(10) is True
    assert wakeups.wait(10) is True  # only settling takes it as seen
    assert wakeups.settle(0, 0) is not None
    assert wakeups.wait(0.01) is False
    assert wakeups.settle(10, 10) is None


def test_what_is_no_change_of_a_file_has_no_time() -> None:
    wakeups = Wakeups()
    wakeups.nudge()
    assert wakeups.wait(10) is True
    assert wakeups.settle(0, 0) is None
    wakeups.nudge()
    wakeups.wake()
    assert wakeups.settle(0, 0) is not None


def test_another_thread_wakes() -> None:
    wakeups = Wakeups()
    later(0.05, wakeups.wake)
    assert wakeups.wait(10) is True


def test_quiet_is_waited_for_and_the_first_event_is_told() -> None:
    wakeups = Wakeups()
    before = time.monotonic()
    wakeups.wake()
    for number in range(1, 5):
        later(0.05 * number, wakeups.wake)
    first = wakeups.settle(0.2, 60)
    assert first is not None
    assert before <= first < before + 0.05
    assert time.monotonic() - first >= 0.4


def test_noise_without_end_is_bounded() -> None:
    wakeups = Wakeups()
    ended = threading.Event()

    def noise() -> None:
        while not ended.wait(0.005):
            wakeups.wake()

    thread = threading.Thread(target=noise)
    thread.start()
    try:
        wakeups.wait(10)
        first = wakeups.settle(0.1, 0.3)
        assert first is not None
        assert time.monotonic() - first >= 0.3
        assert wakeups.wait(10) is True
    finally:
        ended.set()
        thread.join()
