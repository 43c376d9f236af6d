"""A process that is begun before it is known to be wanted, by a program that stands for an engine's."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from overlaysync.targets.begun import Begun, Start
from overlaysync.targets.pipes import ChildProcess
from tests.agent.vocabulary import is_running

PROGRAM = """#!/bin/sh
echo $$
[ "$8" = ends ] || exec sleep 600
"""


@pytest.fixture
def start(tmp_path: Path) -> Start:
    program = tmp_path / "engine"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    return Start(str(program), "1" * 64, "nobody", ("python3", "waits"))


def pid_of(process: ChildProcess) -> int:
    return int(process.stdout.readline())


def test_the_very_same_is_taken_over_once(start: Start) -> None:
    begun = Begun(start)
    time.sleep(0.2)
    first, second = begun.start(start), begun.start(start)
    pids = [pid_of(process) for process in (first, second)]
    assert pids[0] != pids[1]
    begun.end()
    assert all(map(is_running, pids))
    for process in (first, second):
        process.kill()
    assert begun.last == start


@pytest.mark.parametrize(
    "other", [{"container": "2" * 64}, {"user": None}, {"user": "root"}, {"argv": ("python3", "other")}]
)
def test_anything_else_is_started_anew(start: Start, other: dict[str, str], tmp_path: Path) -> None:
    begun = Begun(start._replace(program=str(tmp_path / "engine")))
    marker = begun._process
    assert marker is not None
    expected = pid_of(marker)
    process = begun.start(start._replace(**other))  # type: ignore[arg-type]
    assert pid_of(process) != expected
    assert not is_running(expected)
    process.kill()


def test_one_that_has_ended_is_started_anew(start: Start) -> None:
    ends = start._replace(user=None, argv=("python3", "x", "ends"))
    assert ends.command()[7:9] == ["x", "ends"]
    begun = Begun(ends)
    time.sleep(0.5)
    process = begun.start(ends)
    assert pid_of(process) > 0
    process.kill()


def test_nothing_is_left_of_what_nobody_wants(start: Start) -> None:
    begun = Begun(start)
    assert begun._process is not None
    pid = pid_of(begun._process)
    begun.end()
    begun.end()
    assert not is_running(pid)


def test_the_command_names_the_container_by_its_id(start: Start) -> None:
    assert json.dumps(start.command()[1:]) == json.dumps(
        ["exec", "--interactive", "--workdir", "/", "--user", "nobody", "1" * 64, "python3", "waits"]
    )
    assert "--user" not in start._replace(user=None).command()
