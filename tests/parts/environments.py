"""Virtual environments on this machine: the targets that need no engine."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from tests.parts.wheels import unpack_wheel


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment of the Python that runs the tests."""

    prefix: Path

    @property
    def executable(self) -> Path:
        return self.prefix / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        return self.prefix / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"

    def install(self, wheel: Path) -> None:
        """Install a wheel the quick way (see ``wheels.unpack_wheel``)."""
        unpack_wheel(wheel, self.site_packages, self.executable)

    def python(self, code: str, *, directory: Path | None = None) -> str:
        """What ``python -c code`` prints, stripped; CalledProcessError where it fails."""
        command = [str(self.executable), "-c", code]
        # run from a folder that holds no source tree: the current directory is the first entry of sys.path
        cwd = directory or self.prefix
        return subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, timeout=60, check=True
        ).stdout.strip()


def make_environment(prefix: Path) -> Environment:
    """An empty environment, without pip."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(prefix)
    return Environment(prefix)
