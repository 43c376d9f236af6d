"""Agents that run as a user with few rights."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from overlaysync.remote.connecting import connect
from overlaysync.remote.session import AgentSession
from overlaysync.targets.local import LocalTransport
from overlaysync.targets.pipes import ChildProcess

NOBODY = 65534
SYSTEM_PYTHON = Path("/usr/bin/python3")
"""Others may lie where nobody may not look."""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="another user is set up by root only")


class NobodyTransport(LocalTransport):
    """Starts the agent as nobody; before that root runs a shell command in a mount namespace of its own."""

    def __init__(self, prefix: Path, before: str = "true") -> None:
        super().__init__(str(prefix), interpreter=str(SYSTEM_PYTHON))
        self.before = before

    def start(self, argv: Sequence[str], first: bytes = b"") -> ChildProcess:
        change = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        shell = ["unshare", "--mount", "sh", "-c", f'{self.before} && exec "$@"', "sh"]
        return ChildProcess([*shell, *change, *argv], first=first)


def connect_as_nobody(directory: Path, before: str = "true") -> AgentSession:
    """``directory``, and what is above it, is opened for all to read.

    Skips where there is no system's Python, or no mount namespace.
    """
    unshare = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True, check=False)
    if unshare.returncode != 0:
        pytest.skip(f"a mount namespace is not to be had here: {unshare.stderr.strip()}")
    if not SYSTEM_PYTHON.exists():
        pytest.skip("nobody may use no Python but the system's")
    open_for_all(directory)
    return connect(NobodyTransport(directory, before))


def open_for_all(directory: Path) -> None:
    for place in (directory, *directory.parents[:-2]):
        place.chmod(0o755)
