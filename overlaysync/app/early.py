"""Starts the agent that the last run of the same command line started, before anything is loaded.

What it imports is next to nothing: a whole ``docker exec`` passes meanwhile.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

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


def begin(options: Options) -> Begun:
    """Begins what is known; with nothing known, or in its way, nothing is begun."""
    try:
        return Begun(_expected(options))
    except TargetError:
        return Begun()


def remember(options: Options, begun: Begun) -> None:
    """What answered is begun the next time."""
    start, file = begun.last, _file(options)
    if start is not None and file is not None and start != _expected(options):
        text = json.dumps([start.program, start.container, start.user, start.argv[0]])
        save_cache(file, MAGIC, text.encode("ascii"))


def _expected(options: Options) -> Start | None:
    file = _file(options)
    raw = load_cache(file, MAGIC) if file is not None else b""
    if not raw:
        return None
    program, container, user, python = json.loads(raw)
    if program not in PROGRAMS or not CONTAINER.fullmatch(container):
        return None
    return Start(program, container, user, (python, *arguments(IDLE_SECONDS)))


def _file(options: Options) -> Path | None:
    """By what a command line says of the target, and where it is said."""
    directory = cache_directory()
    said = (options.container, options.config, options.distribution, options.interpreter, options.user)
    name = json.dumps([os.path.abspath(options.worktree), *map(str, said)])  # noqa: PTH100 (links stay)
    return None if directory is None else cache_file(directory, KIND, name)
