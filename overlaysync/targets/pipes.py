"""A child process of this machine as the ``Process`` of the transport seam."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from typing import BinaryIO, cast

from overlaysync.errors import TargetError


class ChildProcess:
    """Its own session, so that Ctrl-C reaches the host alone, which then has the agent roll back."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
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
        try:
            return self._child.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        self._child.kill()
        self._child.wait()
