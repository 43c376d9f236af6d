"""What answered the last time is begun again at once; anything odd begins nothing."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from overlaysync.app.early import KIND, MAGIC, begin, remember
from overlaysync.app.options import Options
from overlaysync.remote.bootstrap import IDLE_SECONDS, arguments
from overlaysync.state.directories import cache_directory
from overlaysync.targets.begun import Begun, Start
from overlaysync.worktree.cache import save_cache

PYTHON = "/opt/venv/bin/python3"
DOCKER = """#!/bin/sh
[ "$1" = exec ] && [ "$6" = python ] || echo "$5 $6" > {told}
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
    return told


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options(worktree=tmp_path, container="dev")


def answered(options: Options) -> None:
    """A run whose agent answered."""
    begun = Begun()
    begun.last = Start("docker", "1" * 64, None, (PYTHON, *arguments(IDLE_SECONDS)))
    remember(options, begun)


def is_begun(options: Options, told: Path) -> bool:
    begun = begin(options)
    deadline = time.monotonic() + 2
    while not (told.exists() and told.read_text()) and time.monotonic() < deadline:
        time.sleep(0.01)
    begun.end()
    return told.exists()


def test_the_last_start_is_begun_again(options: Options, told: Path) -> None:
    assert not is_begun(options, told)
    answered(options)
    assert is_begun(options, told)
    assert told.read_text().split() == ["1" * 64, PYTHON]


@pytest.mark.parametrize("other", [{"container": "other"}, {"user": "root"}, {"distribution": "other"}])
def test_another_command_line_begins_nothing(options: Options, told: Path, other: dict[str, str]) -> None:
    answered(options)
    assert not is_begun(structs.replace(options, **other), told)


@pytest.mark.parametrize(
    "content",
    [7, ["docker", "1" * 64, None], ["sh", "1" * 64, None, "x"], ["docker", "--privileged", None, "x"], {}],
)
def test_anything_odd_begins_nothing(options: Options, told: Path, content: object) -> None:
    answered(options)
    directory = cache_directory()
    assert directory is not None
    [file] = directory.glob(f"{KIND}-*")
    save_cache(file, MAGIC, msgspec.msgpack.encode(content))
    assert not is_begun(options, told)


def test_without_the_program_nothing_is_begun(
    options: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(options)
    monkeypatch.setenv("PATH", str(tmp_path))
    begun = begin(options)
    assert begun.expected is None
    begun.end()
