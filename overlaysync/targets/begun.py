"""A process in a container, begun as the last run began it before anything else is known.

It is taken over only where the very same command would be started now; what an engine says of the container
is asked at each run.
"""

from __future__ import annotations

import re
import threading
from typing import NamedTuple

from overlaysync.targets.pipes import ChildProcess

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
"""Of containers."""


class Start(NamedTuple):
    """What is started: ``argv`` in a container (by its full id), by an engine's program, as a user of it."""

    program: str
    container: str
    user: str | None
    argv: tuple[str, ...]

    def command(self) -> list[str]:
        user = ["--user", self.user] if self.user is not None else []
        options = ["exec", "--interactive", "--workdir", "/", *user]
        return [self.program, *options, self.container, *self.argv]


class Expected(NamedTuple):
    """What is begun: a start, with what is sent first; and what the engine is asked of, all in one question.

    ``name``: of the container, as it was given. ``image``: its image's id.
    """

    start: Start
    first: bytes
    name: str
    image: str


class Begun:
    """At most one process that waits to be taken over, and one question. Any thread may use it."""

    def __init__(self, expected: Expected | None = None) -> None:
        self._turn = threading.Lock()
        self._expected = expected
        self._process: ChildProcess | None = None
        self._question: ChildProcess | None = None
        self.last: Start | None = None
        self.was_taken = False
        if expected is not None:
            start = expected.start
            self._process = ChildProcess(start.command(), first=expected.first)
            try:
                self._question = ChildProcess([start.program, "inspect", expected.name, expected.image])
            except BaseException:
                self.end()
                raise

    def start(self, start: Start, first: bytes) -> ChildProcess:
        """The process that was begun, or a new one. Raises TargetError where the program is not there."""
        self.last = start
        with self._turn:
            process, self._process = self._process, None
        expected = self._expected
        if process is not None and expected is not None:
            if start == expected.start and expected.first.startswith(first) and process.wait(0.0) is None:
                self.was_taken = True
                return process
            process.end()
        return ChildProcess(start.command(), first=first)

    def inspected(self, program: str, name: str, seconds: float) -> bytes:
        """What the engine says, now, of the container and its image; nothing where that was not asked."""
        with self._turn:
            question, self._question = self._question, None
        if question is None or self._expected is None:
            return b""
        if (program, name) != (self._expected.start.program, self._expected.name):
            question.end()
            return b""
        return question.output(seconds)

    def end(self) -> None:
        """Nothing is left of what nobody took over."""
        with self._turn:
            left = (self._process, self._question)
            self._process = self._question = None
        for process in left:
            if process is not None:
                process.end()
