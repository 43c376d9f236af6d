"""Work in parts: nothing is lost, out of order or left behind, whatever becomes of the children."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from overlaysync.agent import cores
from overlaysync.agent.cores import in_parts

Work = Callable[[Sequence[int]], list[int]]
PARENT = os.getpid()
SEVERAL = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs two cores"
)


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Iterator[None]:
    yield
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def doubled(part: Sequence[int]) -> list[int]:
    return [2 * item for item in part]


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 1000])
def test_everything_is_found_in_its_order(count: int) -> None:
    assert in_parts(range(count), 5, doubled) == [2 * item for item in range(count)]


@SEVERAL
def test_the_work_is_shared() -> None:
    found = in_parts(range(100), 5, lambda part: [os.getpid() for _ in part])
    assert found[0] == PARENT
    assert len(set(found)) == min(len(os.sched_getaffinity(0)), cores.MOST)


def test_few_items_are_not_worth_a_process() -> None:
    assert set(in_parts(range(9), 5, lambda part: [os.getpid() for _ in part])) == {PARENT}


def killed(part: Sequence[int]) -> list[int]:
    if os.getpid() != PARENT:
        os.kill(os.getpid(), signal.SIGKILL)
    return doubled(part)


def unable(part: Sequence[int]) -> list[int]:
    if os.getpid() != PARENT:
        raise MemoryError
    return doubled(part)


def unsayable(part: Sequence[int]) -> list[int]:
    if os.getpid() != PARENT:
        return [lambda: None for _ in part]  # type: ignore[misc]  # marshal knows no functions
    return doubled(part)


@SEVERAL
@pytest.mark.parametrize("work", [killed, unable, unsayable])
def test_the_part_of_a_child_that_fails_is_done_by_its_parent(work: Work) -> None:
    assert in_parts(range(100), 5, work) == doubled(range(100))


@pytest.fixture
def _nobody_is_told() -> Iterator[None]:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGCHLD, before)


@SEVERAL
@pytest.mark.usefixtures("_nobody_is_told")
def test_where_ends_of_children_are_ignored() -> None:
    assert in_parts(range(100), 5, doubled) == doubled(range(100))
    with pytest.raises(ZeroDivisionError):
        in_parts(range(100), 5, lambda part: [1 // item for item in part])


@SEVERAL
def test_without_room_for_pipes_the_work_is_done_all_the_same() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))  # all below it are taken
        assert in_parts(range(100), 5, doubled) == doubled(range(100))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


ORPHAN = """
import fcntl, os, sys, time
from overlaysync.agent.cores import in_parts

parent = os.getpid()
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)

def work(part):
    if os.getpid() != parent:
        return [b"x" * 1_000_000 for _ in part]
    print("begun", flush=True)
    time.sleep(600)

in_parts(range(100), 5, work)
"""


@SEVERAL
def test_children_end_where_their_parent_was_killed(tmp_path: Path) -> None:
    """They have more to say than a pipe holds, and hold what they inherited: a lock, the other's pipes."""
    lock = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", ORPHAN, str(lock)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"begun\n"
        parent.kill()
    deadline = time.monotonic() + 20
    with lock.open("w") as stream:
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            else:
                break


@SEVERAL
def test_an_interrupt_is_the_parents_affair(tmp_path: Path) -> None:
    """Ctrl-C reaches all of them; what the parent would do then, no child does."""
    seen = tmp_path / "seen"

    def interrupted(part: Sequence[int]) -> list[int]:
        if os.getpid() != PARENT:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(600)
        return doubled(part)

    try:
        assert in_parts(range(100), 5, interrupted) == doubled(range(100))
    finally:
        with seen.open("a") as stream:
            stream.write(f"{os.getpid()} ")
    assert seen.read_text() == f"{PARENT} "


@SEVERAL
def test_one_that_is_interrupted_while_it_forks_leaves_nothing() -> None:
    handles = os.listdir("/proc/self/fd")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # else what began the tests ignores it
    try:
        os.register_at_fork(before=_interrupt_once)
        INTERRUPTS.append(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            in_parts(range(100), 5, doubled)
    finally:
        signal.signal(signal.SIGINT, before)
    assert os.listdir("/proc/self/fd") == handles


INTERRUPTS: list[signal.Signals] = []


def _interrupt_once() -> None:
    if INTERRUPTS and os.getpid() == PARENT:
        signal.pthread_kill(threading.get_ident(), INTERRUPTS.pop())  # blocked while children are forked


def test_an_error_is_raised_whoever_meets_it() -> None:
    def last_one_fails(part: Sequence[int]) -> list[int]:
        if 99 in part:
            raise ValueError("the last one")
        return doubled(part)

    with pytest.raises(ValueError, match="the last one"):
        in_parts(range(100), 5, last_one_fails)
    with pytest.raises(ZeroDivisionError):
        in_parts(range(100), 5, lambda part: [1 // item for item in part])


def test_an_answer_may_be_larger_than_a_pipe_holds() -> None:
    found = in_parts(range(100), 5, lambda part: [b"x" * 100_000 for _ in part])
    assert [len(item) for item in found] == [100_000] * 100
