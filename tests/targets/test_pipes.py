"""A child process and its pipes."""

from __future__ import annotations

from overlaysync.targets.pipes import ChildProcess


def is_open(process: ChildProcess) -> list[bool]:
    return [not stream.closed for stream in (process.stdin, process.stdout, process.stderr)]


def test_one_that_is_killed_leaves_its_pipes_to_who_reads_them() -> None:
    process = ChildProcess(["sh", "-c", "echo said; exec sleep 600"])
    assert process.stdout.readline() == b"said\n"
    process.kill()
    assert is_open(process) == [True, True, True]
    assert process.stdout.read() == b""
    process.end()


def test_nothing_is_left_of_one_that_nobody_reads() -> None:
    process = ChildProcess(["sleep", "600"])
    process.end()
    assert (is_open(process), process.wait(0.0)) == ([False, False, False], -9)


def test_nothing_is_left_of_one_that_says_it_too_late() -> None:
    process = ChildProcess(["sleep", "600"])
    assert process.output(0.1) == b""
    assert (is_open(process), process.wait(0.0)) == ([False, False, False], -9)
