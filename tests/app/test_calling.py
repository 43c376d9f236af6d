"""A call that nobody waits for any longer leaves nothing behind."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from overlaysync.app.calling import Call
from overlaysync.app.options import Options
from overlaysync.errors import UsageError
from tests.agent.vocabulary import is_running
from tests.parts.repositories import Repository


def call_of(code: str, directory: Path) -> Call:
    """A call to a target whose Python is that program."""
    python = directory / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(f"#!{sys.executable} -IS\nimport os, time\n{code}\n")
    python.chmod(0o755)
    return Call(Options(worktree=directory, container=f"local:{directory}", distribution="sample"))


def is_there(marker: Path) -> bool:
    deadline = time.monotonic() + 20
    while not (marker.exists() and marker.read_text()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return marker.exists()


def test_one_that_is_given_up_before_the_greeting(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    code = f"open({str(marker)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"
    began = time.monotonic()
    with pytest.raises(UsageError), call_of(code, tmp_path):
        assert is_there(marker)
        raise UsageError("the worktree is none")
    assert time.monotonic() - began < 30
    pid, deadline = int(marker.read_text()), time.monotonic() + 20
    while is_running(pid):  # it may have been started just then, and is killed when that is known
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_error_of_the_call_comes_where_it_is_waited_for(tmp_path: Path) -> None:
    options = Options(worktree=tmp_path, container="nonsense:x", distribution="sample")
    with Call(options) as call, pytest.raises(UsageError, match="names no target"):
        call.link()


def test_the_thread_ends_with_the_call(tmp_path: Path) -> None:
    before = threading.active_count()
    with call_of("time.sleep(600)", tmp_path):
        pass
    deadline = time.monotonic() + 20
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_a_look_that_nobody_takes_is_ended_with_the_call(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    repository.write("a.py", "A = 1\n")
    repository.commit()
    repository.write("a.py", "A = 2\n")  # git is asked for HEAD's, by a process that stays
    before = threading.active_count()
    with Call(Options(worktree=repository.path, container="nonsense:x", distribution="sample")) as call:
        looking = call.looking()
        assert call.looking() is looking
    assert threading.active_count() <= before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_what_is_no_worktree_is_told_to_who_takes_the_look(tmp_path: Path) -> None:
    with Call(Options(worktree=tmp_path, container="nonsense:x", distribution="sample")) as call:
        looking = call.looking()
        with pytest.raises(UsageError, match="repository"), looking:
            pass
        looking.close()
