"""Where the daemon is configured, and keeps its socket, its lock and its log: for their owner alone."""

from __future__ import annotations

from pathlib import Path

from overlaysync.state.directories import state_directory, user_configuration

LONGEST_SOCKET = 100
"""Bytes of a socket's path that every system takes (unix(7): 108, elsewhere 104)."""


def daemon_file() -> Path:
    return user_configuration() / "daemon.toml"


def directory() -> Path:
    """Below the state directory, mode 0700. Raises UsageError where it cannot be made."""
    path = state_directory() / "daemon"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def socket_path() -> Path:
    return directory() / "socket"


def lock_path() -> Path:
    return directory() / "lock"


def log_path() -> Path:
    return directory() / "log"
