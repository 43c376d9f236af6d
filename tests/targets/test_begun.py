"""A process that is begun before it is known to be wanted, by a program that stands for an engine's."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from overlaysync.errors import TargetError
from overlaysync.targets import begun as targets_begun
from overlaysync.targets.begun import Begun, Expected, Start
from overlaysync.targets.pipes import ChildProcess
from tests.agent.vocabulary import is_running

PROGRAM = """#!/bin/sh
if [ "$1" = inspect ]; then
    [ "$2" = slow ] && exec sleep 600
    echo "asked of $2 $3"
    [ "$2" != absent ]
    exit
fi
echo $$ | tee -a {started}
[ "$8" = ends ] || exec cat
"""
IMAGE = "sha256:" + "2" * 64
FIRST = b"modules"


@pytest.fixture
def started(tmp_path: Path) -> Path:
    """Where the pids of what was started stand."""
    return tmp_path / "started"


@pytest.fixture
def start(tmp_path: Path, started: Path) -> Start:
    program = tmp_path / "engine"
    program.write_text(PROGRAM.format(started=started))
    program.chmod(0o755)
    return Start(str(program), "1" * 64, "nobody", ("python3", "waits"))


def begin(start: Start, name: str = "dev", said: bytes = FIRST + b" and a request") -> Begun:
    return Begun(Expected(start, said, name, IMAGE))


def pid_of(process: ChildProcess) -> int:
    return int(process.stdout.readline())


def pid_in(started: Path) -> int:
    deadline = time.monotonic() + 20
    while not (started.exists() and started.read_text()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return int(started.read_text().split()[0])


# The process


def test_the_very_same_is_taken_over_once(start: Start) -> None:
    begun = begin(start)
    first, second = begun.start(start, FIRST), begun.start(start, FIRST)
    pids = [pid_of(process) for process in (first, second)]
    assert pids[0] != pids[1]
    begun.end()
    assert all(map(is_running, pids))
    for process in (first, second):
        process.kill()
    assert begun.last == start


def test_it_was_told_all_and_others_are_told_what_they_need(start: Start) -> None:
    begun = begin(start)
    first, second = begun.start(start, FIRST), begun.start(start, FIRST)
    for process, said in ((first, FIRST + b" and a request"), (second, FIRST)):
        pid_of(process)
        process.stdin.close()
        assert process.stdout.read() == said
        assert (process.unsent, process.wait(10.0)) == (b"", 0)


@pytest.mark.parametrize(
    "other", [{"container": "2" * 64}, {"user": None}, {"user": "root"}, {"argv": ("python3", "other")}]
)
def test_anything_else_is_started_anew(start: Start, started: Path, other: dict[str, str]) -> None:
    begun = begin(start)
    expected = pid_in(started)
    process = begun.start(start._replace(**other), FIRST)  # type: ignore[arg-type]
    assert pid_of(process) != expected
    assert not is_running(expected)
    process.kill()


def test_one_that_was_told_something_else_is_started_anew(start: Start, started: Path) -> None:
    begun = begin(start, said=b"older modules")
    expected = pid_in(started)
    process = begun.start(start, FIRST)
    assert pid_of(process) != expected
    process.kill()


def test_one_that_has_ended_is_started_anew(start: Start) -> None:
    ends = start._replace(user=None, argv=("python3", "x", "ends"))
    assert ends.command()[7:9] == ["x", "ends"]
    begun = begin(ends)
    time.sleep(0.5)
    process = begun.start(ends, FIRST)
    assert pid_of(process) > 0
    process.kill()


def test_nothing_is_left_of_what_nobody_wants(start: Start, started: Path) -> None:
    begun = begin(start, name="slow")
    pid = pid_in(started)
    begun.end()
    begun.end()
    assert not is_running(pid)


def test_the_command_names_the_container_by_its_id(start: Start) -> None:
    assert json.dumps(start.command()[1:]) == json.dumps(
        ["exec", "--interactive", "--workdir", "/", "--user", "nobody", "1" * 64, "python3", "waits"]
    )
    assert "--user" not in start._replace(user=None).command()


def test_nothing_is_left_where_the_question_cannot_be_asked(
    start: Start, started: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_processes(argv: list[str], first: bytes = b"") -> ChildProcess:
        if argv[1] == "inspect":
            pid_in(started)
            raise TargetError("no more processes", None)
        return ChildProcess(argv, first=first)

    monkeypatch.setattr(targets_begun, "ChildProcess", only_processes)
    with pytest.raises(TargetError, match="no more processes"):
        begin(start)
    assert not is_running(pid_in(started))


# The question


def test_the_question_is_answered_once(start: Start) -> None:
    begun = begin(start)
    assert begun.inspected(start.program, "dev", 10.0) == f"asked of dev {IMAGE}\n".encode()
    assert begun.inspected(start.program, "dev", 10.0) == b""
    begun.end()


@pytest.mark.parametrize(("asked", "wanted"), [("dev", "other"), ("absent", "absent"), ("slow", "slow")])
def test_without_its_answer_the_engine_is_asked_again(start: Start, asked: str, wanted: str) -> None:
    begun = begin(start, name=asked)
    assert begun.inspected(start.program, wanted, 0.5) == b""
    begun.end()
