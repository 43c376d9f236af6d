"""Pipes to a process that does not do its part: errors within the deadline, and nothing is left behind."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from overlaysync.agent import frames
from overlaysync.errors import AgentLostError
from overlaysync.remote.channel import COMPLAINT_LIMIT, Channel
from tests.remote.programs import ProgramTransport

Open = Callable[[str], Channel]


@pytest.fixture
def open_channel(tmp_path: Path) -> Iterator[Open]:
    opened: list[Channel] = []

    def open_one(code: str) -> Channel:
        opened.append(Channel(ProgramTransport(tmp_path, code).start([])))
        return opened[-1]

    yield open_one
    for channel in opened:
        channel.close(0.2)


def test_a_frame_arrives(open_channel: Open) -> None:
    channel = open_channel("send(frame({'a': 1}, b'body'))")
    assert channel.receive(10.0) == ({"a": 1}, b"body")
    assert channel.receive(10.0) is None
    assert channel.close() == 0


def test_silence(open_channel: Open) -> None:
    channel = open_channel("time.sleep(600)")
    started = time.monotonic()
    with pytest.raises(AgentLostError, match="does not answer in time"):
        channel.receive(0.3)
    assert 0.2 < time.monotonic() - started < 3.0


@pytest.mark.parametrize(
    "code",
    [
        "while True: send(b'x' * 65536)",
        "send(struct.pack('>4sII', b'OVS1', 60_000_000, 0))\nwhile True: send(b' ')",
        "send(struct.pack('>4sII', b'OVS1', 60_000_000, 0))\nwhile True: send(b' '); time.sleep(0.01)",
    ],
    ids=["noise", "a byte at a time", "drops"],
)
def test_endless_output_is_bounded_in_time(open_channel: Open, code: str) -> None:
    channel = open_channel(code)
    started = time.monotonic()
    with pytest.raises((AgentLostError, frames.FrameError)):
        channel.receive(1.0)
    channel.close(0.2)
    assert time.monotonic() - started < 6.0
    assert channel._arrived.maxsize * 65536 < 8_000_000


def test_endless_complaints_are_bounded(open_channel: Open) -> None:
    channel = open_channel("os.write(2, b'y' * 5_000_000 + b' the last words'); send(frame({}))")
    assert channel.receive(20.0) == ({}, b"")
    channel.close()
    assert channel.complaint.endswith(" the last words")
    assert len(channel.complaint) <= COMPLAINT_LIMIT


def test_complaints_of_any_bytes(open_channel: Open) -> None:
    channel = open_channel(r"os.write(2, b'\xff\x1b[31mred\x07\n')")
    channel.close()
    assert channel.complaint == "\ufffd\x1b[31mred\x07"


def test_the_first_words_are_kept_however_early_it_ends(open_channel: Open) -> None:
    channel = open_channel("send(b'these are no frames\\n')")
    with pytest.raises(AgentLostError):
        channel.send(bytes(10_000_000), 10.0)
    assert channel.close() == 0
    assert channel.said == b"these are no frames\n"


def test_a_process_that_takes_nothing(open_channel: Open) -> None:
    channel = open_channel("time.sleep(600)")
    started = time.monotonic()
    with pytest.raises(AgentLostError, match="took no data"):
        channel.send(bytes(10_000_000), 0.3)
    assert time.monotonic() - started < 3.0


def test_a_slow_reader_gets_it_all(open_channel: Open) -> None:
    slowly = "while size < 3_000_000: size += len(os.read(0, 100_000)); time.sleep(0.001)"
    channel = open_channel(f"size = 0\n{slowly}\nsend(frame({{}}))")
    channel.send(bytes(3_000_000), 20.0)
    assert channel.receive(20.0) == ({}, b"")


def test_a_process_that_will_not_end_is_killed(open_channel: Open) -> None:
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsend(frame({}))\ntime.sleep(600)"
    channel = open_channel(code)
    channel.receive(10.0)
    assert channel.close(0.2) is None
    assert channel.close(0.2) is not None  # -9 by now, and closing again is no trouble


def test_a_process_that_is_still_writing_may_end_by_itself(open_channel: Open) -> None:
    channel = open_channel("send(b'x' * 20_000_000)")
    assert channel.close(20.0) == 0


def test_what_is_closed_takes_nothing_more(open_channel: Open) -> None:
    channel = open_channel("pass")
    channel.close()
    with pytest.raises(AgentLostError, match="is over"):
        channel.send(b"x", 1.0)


@pytest.mark.parametrize("at", ["sending", "receiving"])
def test_another_thread_ends_it(open_channel: Open, at: str) -> None:
    """Nothing is written to a pipe's number any more that is somebody else's by then."""
    channel, ended = open_channel("time.sleep(60)"), threading.Event()

    def talk() -> None:
        with pytest.raises(AgentLostError, match="is over"):
            if at == "sending":
                channel.send(b"x" * 10_000_000, 60.0)
            else:
                channel.receive(60.0)
        ended.set()

    threading.Thread(target=talk, daemon=True).start()
    time.sleep(0.3)
    number = channel.process.stdin.fileno()
    channel.close(0.1)
    reader, writer = os.pipe()
    assert number in (reader, writer)
    try:
        assert ended.wait(5)
        assert select.select([reader], [], [], 0)[0] == []
    finally:
        os.close(reader)
        os.close(writer)


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    handles, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    for _ in range(5):
        channel = Channel(ProgramTransport(tmp_path, "send(frame({}))").start([]))
        channel.receive(10.0)
        channel.close()
    assert len(os.listdir("/proc/self/fd")) == handles
    assert threading.active_count() == threads


def test_many_open_files_are_no_trouble(tmp_path: Path) -> None:
    """More than select(2) can count."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1200:
        pytest.skip("this machine allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    null = [os.open(os.devnull, os.O_RDONLY) for _ in range(1050)]
    try:
        channel = Channel(ProgramTransport(tmp_path, "send(frame(receive()))").start([]))
        channel.send(frames.encode({"a": 1}), 10.0)
        assert channel.receive(10.0) == ({"a": 1}, b"")
        channel.close()
    finally:
        for handle in null:
            os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
