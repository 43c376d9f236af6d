"""Configuration files of a worktree: bounded, never read from outside it, never more than parsed."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import tomli

from overlaysync.config.keys import shown_path
from overlaysync.errors import ConfigError

MAXIMUM_SIZE = 1 << 20
"""In bytes. A larger file is no configuration, and would keep the parser busy."""


def read(path: Path, *, within: Path | None) -> str | None:
    """The text of a configuration file; None where there is no such path.

    Args:
        within: the worktree that the file, links resolved, has to lie in; None for a file the user named.

    Raises:
        ConfigError: it cannot be read, is no regular file, too large, not UTF-8, or outside the worktree.
    """
    if not os.path.lexists(path):
        return None
    name = shown_path(path)
    try:
        real = path.resolve(strict=True)
        if within is not None and not real.is_relative_to(within.resolve()):
            raise ConfigError(
                f"{name} is a link that leaves the worktree",
                "put the file itself there, or name it with --config FILE",
            )
        status = real.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(f"{name} is no regular file", "put a regular file there, or remove it")
        with real.open("rb") as stream:
            content = stream.read(MAXIMUM_SIZE + 1)
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, before Python 3.13
        raise ConfigError(f"{name} cannot be read: {error}", "check the file and its permissions") from error
    if len(content) > MAXIMUM_SIZE:
        raise ConfigError(f"{name} is larger than 1 MiB", "keep only the configuration in it")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{name} is not UTF-8, first at byte {error.start}", "save the file as UTF-8"
        ) from error


def parse(text: str, path: Path) -> dict[str, Any]:
    """The tables of a TOML file. Raises ConfigError with line and column where it is none."""
    try:
        return tomli.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also a number too long for Python
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ConfigError(f"{shown_path(path)} is no valid TOML: {reason}", "correct that line") from error


def table(document: dict[str, Any], *keys: str) -> dict[str, Any]:
    """The table at a dotted key of somebody else's file; empty where there is none."""
    value: Any = document
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
