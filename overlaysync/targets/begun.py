"""A process in a container, begun as the last run began it before anything else is known.

It is taken over only where the very same command would be started now; what an engine says of the container
is asked for all the same.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

from overlaysync.targets.pipes import ChildProcess


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


class Begun:
    """At most one process that waits to be taken over. Any thread may use it."""

    def __init__(self, expected: Start | None = None) -> None:
        self._turn = threading.Lock()
        self.expected = expected
        self._process = ChildProcess(expected.command()) if expected is not None else None
        self.last: Start | None = None

    def start(self, start: Start) -> ChildProcess:
        """The process that was begun, or a new one. Raises TargetError where the program is not there."""
        self.last = start
        with self._turn:
            process, self._process = self._process, None
        if process is not None and start == self.expected and process.wait(0.0) is None:
            return process
        if process is not None:
            process.kill()
        return ChildProcess(start.command())

    def end(self) -> None:
        """Nothing is left of what nobody took over."""
        with self._turn:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
