"""What a person sees on a terminal, in a pipe, and under locales that know few characters."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

import pytest

from tests.e2e.scenario import LocalScenario, check_manners
from tests.parts.hooks import install_hook, remove_hook

GREEN, RED = "\x1b[32m", "\x1b[31m"
SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ of Linux, which Python names since 3.10
PUSHED = "✓ applied: 1 file"


class Seen(NamedTuple):
    """What came out: on the terminal, and in the pipe where standard output was one."""

    exit_code: int
    terminal: str
    pipe: str


def open_terminal() -> tuple[int, int]:
    """Skips where the system has no terminals, as in a bare root directory without ``/dev/pts``."""
    try:
        return pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminal is to be had here: {error}")


def on_a_terminal(
    local: LocalScenario, *arguments: str, environment: Mapping[str, str], pipe: bool = False
) -> Seen:
    """Runs a command whose standard error, and unless ``pipe`` its standard output, is a terminal."""
    line = [sys.executable, "-m", "overlaysync", "-C", str(local.project.path), *arguments]
    leader, follower = open_terminal()
    try:
        process = subprocess.Popen(
            line,
            stdin=follower,
            stdout=subprocess.PIPE if pipe else follower,
            stderr=follower,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "200", **environment},
            start_new_session=True,
        )
        os.close(follower)
        seen = b""
        with suppress(OSError):  # EIO: the last process that had the terminal has ended
            while piece := os.read(leader, 65536):
                seen += piece
        piped = process.stdout.read() if process.stdout is not None else b""
        return Seen(process.wait(timeout=60), seen.decode(), piped.decode())
    finally:
        os.close(leader)


def push(local: LocalScenario, **environment: str) -> Seen:
    return on_a_terminal(local, "push", "--container", local.target, *local.options, environment=environment)


def test_colour_on_a_terminal_and_none_where_it_is_not_wanted(local: LocalScenario) -> None:
    local.edit_generation()
    seen = push(local)
    assert (seen.exit_code, f"{GREEN}✓" in seen.terminal) == (0, True)
    for generation, environment in enumerate(({"NO_COLOR": "1"}, {"TERM": "dumb"}), 3):
        local.edit_generation(generation)
        seen = push(local, **environment)
        assert seen.exit_code == 0
        assert PUSHED in seen.terminal
        assert "\x1b" not in seen.terminal
    local.edit_generation(5)
    result = local("push")  # checks that a pipe gets neither colour nor anything else of a terminal
    assert PUSHED in result.stdout


def test_a_refusal_on_a_terminal(local: LocalScenario) -> None:
    local.project.write("csrc/kernel.c", "int kernel;\n")
    seen = push(local)
    assert seen.exit_code == 3
    assert f"{RED}native-change" in seen.terminal
    seen = on_a_terminal(local, "push", "--container", "local:/nowhere", environment={})
    assert seen.exit_code == 7
    assert f"{RED}✗" in seen.terminal


def test_progress_only_where_there_is_something_to_wait_for(local: LocalScenario) -> None:
    """On standard error, so that standard output can be a pipe; nothing of it stays on the screen."""
    install_hook(local.environment.site_packages, "import time; time.sleep(1)")
    line = ("status", "--json", "--container", local.target, *local.options)
    seen = on_a_terminal(local, *line, environment={}, pipe=True)
    assert seen.exit_code == 0
    assert "finding the interpreter" in seen.terminal
    assert seen.pipe.startswith('{"') or '"schema"' in seen.pipe
    assert "\x1b" not in seen.pipe
    seen = on_a_terminal(local, *line, environment={"NO_COLOR": "1"}, pipe=True)
    assert seen.terminal == ""
    remove_hook(local.environment.site_packages)
    assert local("status").stderr == ""


def test_the_panel_of_a_watch_claims_nothing_that_is_gone(local: LocalScenario) -> None:
    local.edit_generation()
    line = ["-C", str(local.project.path), "watch", "--container", local.target, *local.options]
    leader, follower = open_terminal()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200", "NO_COLOR": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "overlaysync", *line],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment,
        start_new_session=True,
    )
    os.close(follower)
    try:
        assert shows(leader, "1 file of the worktree, proven")
        assert local.ask("revert")["outcome"] == "applied"
        assert shows(leader, "not this worktree's state any more")
        local.edit_generation(3)
        assert shows(leader, "1 file of the worktree, proven")
    finally:
        process.kill()
        process.wait()
        os.close(leader)


def shows(leader: int, words: str) -> bool:
    """Whether the row of what is in the target comes to say so."""
    seen, deadline = "", time.monotonic() + 30
    while time.monotonic() < deadline:
        if select.select([leader], [], [], 0.2)[0]:
            seen += os.read(leader, 65536).decode(errors="replace")
        if any("in target" in row and words in row for row in seen.splitlines()):
            return True
    return False


def test_locales_that_lack_our_characters(local: LocalScenario) -> None:
    local.project.write("sample_pkg/data/ü.json", "{}\n")
    for environment in (
        {"LC_ALL": "POSIX"},
        {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
    ):
        line = ("-C", str(local.project.path), "status", "--container", local.target, *local.options)
        done = subprocess.run(
            [sys.executable, "-m", "overlaysync", *line],
            env={**os.environ, **environment},
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"sample_pkg/data/" in done.stdout
    assert local.applied()["operations"][0]["source"] == "sample_pkg/data/ü.json"


def test_a_reader_that_leaves_early(local: LocalScenario) -> None:
    """``overlaysync status | head -1``."""
    line = ("-C", str(local.project.path), "status", "--container", local.target, *local.options)
    process = subprocess.Popen(
        [sys.executable, "-m", "overlaysync", *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=60), said) == (0, b"")


def test_a_reader_that_takes_his_time_keeps_nobody_out(local: LocalScenario) -> None:
    """The answer is longer than the pipe is; the target's lock is let go of before it is given out."""
    for number in range(100):
        local.project.write(f"sample_pkg/data/{number}.json", "{}\n")
    local.edit_generation()
    line = ["-C", str(local.project.path), "status", "--json", "--container", local.target, *local.options]
    command = [sys.executable, "-m", "overlaysync", *line]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        fcntl.fcntl(process.stdout, SET_PIPE_SIZE, 4096)
        first = process.stdout.read(1)
        local.applied()
        assert process.poll() is None
        assert len(json.loads(first + process.stdout.read())["operations"]) == 101


def test_help_reaches_everybody(local: LocalScenario) -> None:
    for arguments in ((), ("--help",), ("push", "--help"), ("manifest", "show", "-h")):
        result = check_manners(local.cli(*arguments))
        assert "Usage: overlaysync" in result.stdout + result.stderr
        assert "Example: overlaysync" in result.stdout + result.stderr
