"""A child process of this machine as the ``Process`` of the transport seam."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import subprocess
from collections.abc import Mapping, Sequence
from typing import BinaryIO, cast

from overlaysync.errors import TargetError

PIPE_SIZE = 1 << 20
"""Bytes: what everybody may ask Linux for (pipe(7)), and more than a target is sent at first."""


class ChildProcess:
    """Its own session, so that Ctrl-C reaches the host alone, which then has the agent roll back.

    ``first``: what it is sent at once, as far as its pipe takes it; ``unsent`` is what is left of that.
    """

    def __init__(
        self, argv: Sequence[str], environment: Mapping[str, str] | None = None, first: bytes = b""
    ) -> None:
        try:
            self._child = subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=None if environment is None else dict(environment),
                start_new_session=True,
            )
        except OSError as error:
            raise TargetError(
                f"{argv[0]} cannot be started: {error.strerror}", f"install {argv[0]}, or put it on PATH"
            ) from error
        self.unsent = _fill(self.stdin.fileno(), first)

    @property
    def stdin(self) -> BinaryIO:
        return cast(BinaryIO, self._child.stdin)

    @property
    def stdout(self) -> BinaryIO:
        return cast(BinaryIO, self._child.stdout)

    @property
    def stderr(self) -> BinaryIO:
        return cast(BinaryIO, self._child.stderr)

    def wait(self, timeout: float) -> int | None:
        ended = _wait_for_end(self._child.pid, timeout)
        try:
            return self._child.wait(timeout if ended is None else 0)
        except subprocess.TimeoutExpired:
            return None

    def output(self, timeout: float) -> bytes:
        """All that it writes, where it ends well within ``timeout`` seconds; else nothing."""
        try:
            output, _ = self._child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.end()
            return b""
        return bytes(output) if self._child.returncode == 0 else b""

    def kill(self) -> None:
        """Any thread may call it; its pipes are left to who reads them."""
        self._child.kill()
        self._child.wait()

    def end(self) -> None:
        """Nothing is left of it, where nobody else reads its pipes."""
        self.kill()
        for stream in (self.stdin, self.stdout, self.stderr):
            stream.close()


def _fill(handle: int, content: bytes) -> bytes:
    """Writes what a pipe takes without waiting for its reader; the rest."""
    if not content:
        return content
    with contextlib.suppress(OSError, AttributeError):  # the system's limit of all pipes, or another system
        fcntl.fcntl(handle, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    os.set_blocking(handle, False)
    with contextlib.suppress(BlockingIOError, BrokenPipeError):
        while content:
            content = content[os.write(handle, content) :]
    return content


def _wait_for_end(pid: int, timeout: float) -> bool | None:
    """Sleeps until a child ends; whether it did, or None where the system cannot tell (pidfd_open(2)).

    ``Popen.wait`` with a time limit asks again and again, and is late by that.
    """
    try:
        handle = os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
    try:
        ending = select.poll()
        ending.register(handle, select.POLLIN)
        return bool(ending.poll(timeout * 1000))
    finally:
        os.close(handle)
