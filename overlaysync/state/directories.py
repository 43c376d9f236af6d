"""Where this tool keeps its own files on the host: records that matter, and a cache that does not.

By the XDG Base Directory Specification (https://specifications.freedesktop.org/basedir-spec/latest/), also on
macOS. Both directories are for their owner alone: what they hold names private paths and unpublished code.
"""

from __future__ import annotations

import os
from pathlib import Path

from overlaysync.errors import UsageError

_NAME = "overlaysync"
_DEFAULTS = {
    "XDG_STATE_HOME": "~/.local/state",
    "XDG_CACHE_HOME": "~/.cache",
    "XDG_CONFIG_HOME": "~/.config",
}


def state_directory() -> Path:
    """The directory of records, made if it is not there.

    Raises:
        UsageError: it cannot be made for us alone.
    """
    try:
        return _private(_place("XDG_STATE_HOME"))
    except OSError as error:
        raise UsageError(
            f"records cannot be kept: {error}",
            "set XDG_STATE_HOME to an absolute path of a directory that you may write to",
        ) from error


def cache_directory() -> Path | None:
    """The directory of the cache, made if it is not there; None where it cannot be, which costs time only."""
    try:
        return _private(_place("XDG_CACHE_HOME"))
    except OSError:
        return None


def user_configuration() -> Path:
    """The directory of what a user configures for all worktrees; it need not be there. Raises UsageError."""
    try:
        return _place("XDG_CONFIG_HOME")
    except OSError as error:
        raise UsageError(str(error), "set XDG_CONFIG_HOME to an absolute path") from error


def _place(variable: str) -> Path:
    """A path that is not absolute is none, as the specification says. Raises FileNotFoundError."""
    for base in (os.environ.get(variable, ""), os.path.expanduser(_DEFAULTS[variable])):  # noqa: PTH111
        if (path := Path(base)).is_absolute():
            return path / _NAME
    raise FileNotFoundError("no home directory is known")


def _private(path: Path) -> Path:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.stat().st_mode & 0o077:
        path.chmod(0o700)
    return path
