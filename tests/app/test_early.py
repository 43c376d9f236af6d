"""What answered the last time is begun again at once; anything odd begins nothing."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from overlaysync.app.early import MAGIC, agent_bundle, begin
from overlaysync.remote import bootstrap
from overlaysync.remote.bootstrap import IDLE_SECONDS, arguments
from overlaysync.state.directories import cache_directory
from overlaysync.targets.begun import Start
from overlaysync.worktree.cache import save_cache

PYTHON = "/opt/venv/bin/python3"
CONTAINER, IMAGE = "1" * 64, "sha256:" + "2" * 64
LINE = ("push", "--container", "dev")
DOCKER = """#!/bin/sh
[ "$1" = exec ] && echo "$5 $6" >> {told}
[ "$1" = inspect ] && echo "$2 $3" >> {told}
exec sleep 600
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a program that stands for docker's says what it was asked for."""
    program, told = tmp_path / "bin" / "docker", tmp_path / "told"
    program.parent.mkdir()
    program.write_text(DOCKER.format(told=told))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    return told


def answered(*line: str) -> None:
    """A run whose agent answered."""
    run = begin(line)
    run.begun.last = Start("docker", CONTAINER, None, (PYTHON, *arguments(IDLE_SECONDS)))
    run.remember("dev", IMAGE, b"request")
    run.begun.end()


def what_is_begun(told: Path, *line: str) -> set[str]:
    run = begin(line)
    deadline = time.monotonic() + 2
    while not (told.exists() and len(told.read_text().splitlines()) == 2) and time.monotonic() < deadline:
        time.sleep(0.01)
    run.begun.end()
    return set(told.read_text().splitlines()) if told.exists() else set()


def test_the_last_start_is_begun_again(told: Path) -> None:
    assert what_is_begun(told, *LINE) == set()
    answered(*LINE)
    assert what_is_begun(told, *LINE) == {f"{CONTAINER} {PYTHON}", f"dev {IMAGE}"}


@pytest.mark.parametrize(
    "other", [("push", "--container", "other"), ("status", "--container", "dev"), (*LINE, "--help"), ()]
)
def test_another_command_line_begins_nothing(told: Path, other: tuple[str, ...]) -> None:
    answered(*LINE)
    answered(*LINE, "--help")
    answered()
    assert what_is_begun(told, *other) == set()


def test_the_same_line_elsewhere_begins_nothing(
    told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(*LINE)
    monkeypatch.chdir(tmp_path / "bin")
    assert what_is_begun(told, *LINE) == set()


GOOD = ["docker", CONTAINER, None, PYTHON, "dev", IMAGE, "request"]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, "sh"),
        (1, "--privileged"),
        (1, 7),
        (2, 0),
        (3, None),
        (4, "-v"),
        (4, []),
        (5, "alpine"),
        (6, "\u1234"),
        (6, None),
    ],
)
def test_anything_odd_begins_nothing(told: Path, place: int, value: object) -> None:
    odd = [*GOOD]
    odd[place] = value  # type: ignore[call-overload]
    assert begun_of(told, odd) == set()


@pytest.mark.parametrize("content", [7, {}, [], GOOD[:-1], [*GOOD, "more"]])
def test_what_is_no_start_begins_nothing(told: Path, content: object) -> None:
    assert begun_of(told, content) == set()


def test_the_control(told: Path) -> None:
    assert len(begun_of(told, GOOD)) == 2


def begun_of(told: Path, content: object) -> set[str]:
    answered(*LINE)
    directory = cache_directory()
    assert directory is not None
    [file] = directory.glob("start-*")
    save_cache(file, MAGIC, json.dumps(content).encode())
    return what_is_begun(told, *LINE)


def test_without_the_program_nothing_is_begun(
    told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(*LINE)
    monkeypatch.setenv("PATH", str(tmp_path))
    begin(LINE).begun.end()
    assert not told.exists()


def test_the_agents_modules_are_kept_until_they_are_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fresh() -> bytes:
        return agent_bundle.__wrapped__(tmp_path)

    assert fresh() == bootstrap.bundle()
    monkeypatch.setattr(bootstrap, "bundle", lambda: b"made anew")
    assert fresh() != b"made anew"
    monkeypatch.setattr("overlaysync.app.early.mark", lambda *_: "another state")
    assert fresh() == b"made anew"
