"""Starts the agent that the last run of the same command line started, before anything is loaded.

What it imports is a small part of the tool: a whole ``docker exec``, and what is asked first of the agent,
pass while the rest is loaded.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from overlaysync import agent
from overlaysync.app.own_code import mark
from overlaysync.errors import TargetError
from overlaysync.remote import bootstrap
from overlaysync.state.directories import cache_directory
from overlaysync.targets.begun import NAME, Begun, Expected, Start
from overlaysync.worktree.cache import cache_file, load_cache, save_cache

MAGIC = b"overlaysync start 2\n"
AGENT_MAGIC = b"overlaysync agent 1\n"
PROGRAMS = frozenset({"docker"})
CONTAINER = re.compile(r"[0-9a-f]{64}")
IMAGE = re.compile(r"sha256:[0-9a-f]{64}")
NO_TARGET = frozenset({"-h", "--help", "--version"})


class Early:
    """What was begun for a command line, and what will be the next time. ``file``: where that is kept.

    ``preparation``: what the agent may be told before the next look of the same run (``remote.preparation``).
    """

    def __init__(self, file: Path | None = None) -> None:
        self.preparation: bytes | None = None
        self._file = file
        self._kept = load_cache(file, MAGIC) if file is not None else b""
        try:
            self.begun = Begun(_expected(self._kept))
        except (TargetError, OSError):
            self.begun = Begun()

    def remember(self, name: str, image: str, prepare: bytes) -> None:
        """What answered is begun the next time.

        Args:
            name: of the container, as it was given.
            image: its image's id.
            prepare: the agent's request of this name, as a frame.
        """
        self.preparation = prepare
        start = self.begun.last
        if start is None or self._file is None:
            return
        known = [start.program, start.container, start.user, start.argv[0], name, image]
        content = json.dumps([*known, prepare.decode("latin-1")]).encode("ascii")
        if content != self._kept:
            save_cache(self._file, MAGIC, content)


def begin(arguments: Sequence[str]) -> Early:
    """Begins what is known of this command line; with nothing known, or in its way, nothing is begun."""
    directory = cache_directory() if arguments and not NO_TARGET.intersection(arguments) else None
    try:
        here = os.getcwd()  # noqa: PTH109 (it is only a text here)
    except OSError:
        return Early()
    return Early(cache_file(directory, "start", json.dumps([here, *arguments])) if directory else None)


@functools.cache
def agent_bundle(directory: Path | None) -> bytes:
    """``bootstrap.bundle``, made once for each state of the agent's modules, and kept in a directory."""
    try:
        state = mark((agent,), (bootstrap.__file__,))
    except OSError:
        directory = None
    if directory is None:
        return bootstrap.bundle()
    file = cache_file(directory, "agent", bootstrap.made_for() + state)
    content = load_cache(file, AGENT_MAGIC)
    if not content:
        content = bootstrap.bundle()
        save_cache(file, AGENT_MAGIC, content)
    return content


def _expected(kept: bytes) -> Expected | None:
    try:
        program, container, user, python, name, image, prepare = json.loads(kept)
        named = [
            pattern.fullmatch(text)
            for pattern, text in ((CONTAINER, container), (NAME, name), (IMAGE, image))
        ]
        said = prepare.encode("latin-1")
    except (ValueError, TypeError, AttributeError):
        return None
    known = all(named) and program in PROGRAMS and isinstance(python, str)
    if not known or not (user is None or isinstance(user, str)):
        return None
    start = Start(program, container, user, (python, *bootstrap.arguments(bootstrap.IDLE_SECONDS)))
    return Expected(start, agent_bundle(cache_directory()) + said, name, image)
