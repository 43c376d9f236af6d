"""How the program ends: its exit code is the command's, whatever its streams are."""

from __future__ import annotations

import subprocess
import sys

import pytest


def end_of(redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    line = f'exec "$0" -m overlaysync "$@" {redirection}'
    command = ["sh", "-c", line, sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("redirection", ["", ">&-", "2>&-", ">&- 2>&-", "<&-"])
def test_a_closed_stream_is_none_of_its_business(redirection: str) -> None:
    ended = end_of(redirection, "--version")
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False)


@pytest.mark.parametrize("redirection", ["", "2>&-"])
def test_a_refusal_keeps_its_exit_code(redirection: str) -> None:
    assert end_of(redirection, "push", "--nonsense").returncode == 2


def test_what_could_not_be_written_is_no_success() -> None:
    assert end_of(">/dev/full", "completion", "bash").returncode != 0
