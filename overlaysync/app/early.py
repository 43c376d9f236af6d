"""Starts the agent that the last run of the same command line started, before anything is loaded.

What it imports is a small part of the tool: a whole ``docker exec`` passes while the rest is loaded.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import msgspec
from msgspec import Struct

from overlaysync.app.options import Options
from overlaysync.errors import TargetError
from overlaysync.remote.bootstrap import IDLE_SECONDS, arguments
from overlaysync.state.directories import cache_directory
from overlaysync.targets.begun import Begun, Start
from overlaysync.worktree.cache import cache_file, load_cache, save_cache

KIND = "start"
MAGIC = b"overlaysync start 1\n"
PROGRAMS = frozenset({"docker"})
CONTAINER = re.compile(r"[0-9a-f]{64}")


class Known(Struct, frozen=True, array_like=True):
    """What of a start is kept; the rest is the same each time."""

    program: str
    container: str
    user: str | None
    python: str


def begin(options: Options) -> Begun:
    """Begins what is known; with nothing known, or in its way, nothing is begun."""
    try:
        return Begun(_expected(options))
    except TargetError:
        return Begun()


def remember(options: Options, begun: Begun) -> None:
    """What answered is begun the next time."""
    start = begun.last
    if start is None or start == begun.expected:
        return
    if (file := _file(options)) is not None:
        known = Known(start.program, start.container, start.user, start.argv[0])
        save_cache(file, MAGIC, msgspec.msgpack.encode(known))


def _expected(options: Options) -> Start | None:
    file = _file(options)
    raw = load_cache(file, MAGIC) if file is not None else b""
    try:
        known = msgspec.msgpack.decode(raw, type=Known)
    except msgspec.MsgspecError:
        return None
    if known.program not in PROGRAMS or not CONTAINER.fullmatch(known.container):
        return None
    return Start(known.program, known.container, known.user, (known.python, *arguments(IDLE_SECONDS)))


def _file(options: Options) -> Path | None:
    """By what a command line says of the target, and where it is said."""
    directory = cache_directory()
    said = (options.container, options.config, options.distribution, options.interpreter, options.user)
    name = json.dumps([os.path.abspath(options.worktree), *map(str, said)])  # noqa: PTH100 (links stay)
    return None if directory is None else cache_file(directory, KIND, name)
