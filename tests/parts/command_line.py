"""The real command line in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple


class Result(NamedTuple):
    """How one command ended."""

    exit_code: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        """The one JSON value on stdout; AssertionError where anything else is there."""
        try:
            return json.loads(self.stdout)
        except json.JSONDecodeError as error:
            raise AssertionError(
                f"stdout is not one JSON value ({error}); exit code {self.exit_code}\n"
                f"stdout: {self.stdout}\nstderr: {self.stderr}"
            ) from None


class CommandLine:
    """Calls ``python -m overlaysync``.

    Args:
        directory: where commands run unless told otherwise.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __call__(
        self,
        *arguments: str | Path,
        directory: Path | None = None,
        environment: Mapping[str, str] | None = None,
        input: str | None = None,
        timeout: float = 120,
    ) -> Result:
        """Run one command to its end; subprocess.TimeoutExpired where it takes longer than ``timeout``."""
        done = subprocess.run(
            [sys.executable, "-m", "overlaysync", *map(str, arguments)],
            cwd=directory or self.directory,
            env={**os.environ, **(environment or {})},
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)
