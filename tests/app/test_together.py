"""Runs that pass each point together, or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest

from overlaysync.app import together as together_module
from overlaysync.app.together import POINTS, Together
from overlaysync.errors import AgentLostError, AnotherTargetError
from overlaysync.model.ahead import Ahead

T = TypeVar("T")
Work = Callable[[Together], object]


def in_threads(together: Together, works: Sequence[Work]) -> list[object]:
    """What each came to: a value, or its AnotherTargetError."""

    def run(work: Work) -> object:
        try:
            return work(together)
        except AnotherTargetError as error:
            return error

    begun = [Ahead(lambda work=work: run(work)) for work in works]  # type: ignore[misc]
    return [within_seconds(one) for one in begun]


def within_seconds(begun: Ahead[T]) -> T:
    """A broken ``Together`` must not hang the tests."""
    waiting = threading.Thread(target=begun.wait, daemon=True)
    waiting.start()
    waiting.join(20)
    assert not waiting.is_alive()
    return begun.result()


def points(count: int) -> Work:
    def work(together: Together) -> int:
        for _ in range(count):
            together.agree()
        return count

    return work


def leave(together: Together) -> str:
    together.leave()
    return "left"


def give_up(together: Together) -> str:
    together.give_up("the other")
    return "gave up"


def test_nobody_passes_before_all_are_here() -> None:
    together, passed = Together(2), threading.Event()

    def first() -> None:
        together.agree()
        passed.set()

    waiting = Ahead(first)
    assert not passed.wait(0.05)
    within_seconds(Ahead(together.agree))
    within_seconds(waiting)
    assert passed.is_set()


@pytest.mark.parametrize("count", [1, 2, 8])
def test_all_pass_every_point(count: int) -> None:
    assert in_threads(Together(count), [points(50)] * count) == [50] * count


def test_one_that_left_is_not_waited_for() -> None:
    assert in_threads(Together(3), [points(3), leave, points(3)]) == [3, "left", 3]


def test_nobody_passes_once_one_gave_up() -> None:
    ended = in_threads(Together(3), [points(3), give_up, points(3)])
    assert [type(one) for one in ended] == [AnotherTargetError, str, AnotherTargetError]
    assert "the other could not be changed" in str(ended[0])


def test_who_waits_long_gives_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together_module, "PATIENCE", 0.01)
    together, signs = Together(2), threading.Semaphore(0)
    waiting = Ahead(lambda: together.agree("first", signs.release))
    for _ in range(3):
        assert signs.acquire(timeout=20)
    together.agree()
    assert within_seconds(waiting) > 0.02


def test_who_has_no_sign_of_life_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together_module, "PATIENCE", 0.01)

    together, failed = Together(2), threading.Event()

    def lost() -> None:
        failed.set()
        raise AgentLostError("gone")

    def first() -> None:
        with pytest.raises(AgentLostError):
            together.agree("first", lost)

    waiting = Ahead(first)
    assert failed.wait(20)
    within_seconds(waiting)
    with pytest.raises(AnotherTargetError, match="first could not"):
        together.agree("second")


def test_past_the_last_point_all_is_decided() -> None:
    together = Together(1)
    for _ in range(POINTS):
        together.agree()
    assert not together.give_up("late")
    assert Together(1).give_up("in time")


def test_a_point_that_was_passed_stays_passed() -> None:
    """One of two gives up right after it: the other one goes on to the next."""
    for _ in range(200):
        together = Together(2)
        seen: list[str] = []

        def first(together: Together, seen: list[str] = seen) -> None:
            together.agree()
            seen.append("passed")
            together.agree()

        def second(together: Together) -> None:
            together.agree()
            together.give_up("the other")

        ended = in_threads(together, [first, second])
        assert (seen, type(ended[0])) == (["passed"], AnotherTargetError)
