"""``local:PREFIX``: an environment on this machine (a virtual environment, a conda environment, /usr)."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from overlaysync.errors import NoInterpreterError, OverlaysyncError, TargetError
from overlaysync.model.seams import Process
from overlaysync.model.target import Setting, TargetIdentity
from overlaysync.targets.pipes import ChildProcess

_REPAIR = "repair the environment, or name another Python with --interpreter PATH"


class LocalTransport:
    """Starts processes here. There is no image, so there are no labels: evidence must come from elsewhere."""

    def __init__(self, prefix: str, *, interpreter: str | None = None, user: str | None = None) -> None:
        self.prefix = Path(prefix).expanduser().absolute()
        self._interpreter = interpreter
        if user is not None:
            raise TargetError(
                "a local: target is written to as the user who runs overlaysync", "leave out --user"
            )

    def describe(self) -> TargetIdentity:
        if not self.prefix.is_dir():
            raise TargetError(
                f"there is no environment at {self.prefix}",
                "name an existing directory: local:PREFIX",
                code="no-environment",
            )
        return TargetIdentity(
            kind="local",
            name=str(self.prefix),
            platform=f"{platform.system().lower()}/{platform.machine()}",
            engine="local",
        )

    def setting(self) -> Setting:
        return Setting(environment=dict(os.environ), working_directory=str(self.prefix))

    def labels(self) -> dict[str, str]:
        return {}

    def interpreters(self) -> Sequence[str]:
        """The environment's own Python; no other Python of this machine is ever looked at."""
        if self._interpreter is not None:
            return [self._interpreter]
        found = [str(self.prefix / "bin" / name) for name in ("python3", "python")]
        found = [path for path in found if os.access(path, os.X_OK)]
        if not found:
            raise NoInterpreterError(
                f"{self.prefix} has no bin/python3", "name the environment's directory: local:PREFIX"
            )
        return found

    def shell(self) -> str:
        return ""

    def start(self, argv: Sequence[str], first: bytes = b"") -> Process:
        try:
            return ChildProcess(argv, first=first)
        except TargetError as error:
            raise NoInterpreterError(error.message, _REPAIR) from error

    def events(self) -> None:
        return None

    def explain(self, exit_code: int | None, stderr: str) -> OverlaysyncError:
        last = stderr.splitlines()[-1:] or ["it said nothing"]
        return NoInterpreterError(
            f"the Python of {self.prefix} does not run (exit code {exit_code}): {last[0]}", _REPAIR
        )

    def close(self) -> None:
        pass
