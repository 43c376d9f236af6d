"""Releases of real projects, downloaded from the package index by the real pip and kept between sessions."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from filelock import FileLock


class ReleaseMissingError(Exception):
    """The package index does not give a release here; the message says why."""


class Releases:
    """Downloads each release once; wheels are those for the Python that runs the tests.

    Args:
        directory: where downloads are kept; by default a folder beside those of other test sessions.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory or Path(tempfile.gettempdir(), "overlaysync-test-releases")
        self._environment = dict(os.environ)  # before a test gets a home without pip's configuration

    def source(self, requirement: str) -> dict[str, bytes]:
        """The files of a source release (``black==25.11.0``) by their path below its top folder."""
        with tarfile.open(self._one(requirement, "--no-deps", "--no-binary=:all:")) as archive:
            members = [(member.name, archive.extractfile(member)) for member in archive if member.isfile()]
            return {name.partition("/")[2]: file.read() for name, file in members if file is not None}

    def wheel(self, requirement: str) -> Path:
        """The wheel of a release."""
        return self._one(requirement, "--no-deps", "--only-binary=:all:")

    def pure_wheel(self, requirement: str) -> Path:
        """The wheel that fits any interpreter and platform, of a release that has compiled ones too."""
        tags = ("--implementation=py", "--abi=none", "--platform=any")
        return self._one(requirement, "--no-deps", "--only-binary=:all:", *tags)

    def dependencies(self, requirement: str) -> list[Path]:
        """The wheels of all that a release depends on, in versions of today's index."""
        itself = self.wheel(requirement).name
        return [path for path in self._download(requirement, "--only-binary=:all:") if path.name != itself]

    def _one(self, requirement: str, *options: str) -> Path:
        (path,) = self._download(requirement, *options)
        return path

    def _download(self, requirement: str, *options: str) -> list[Path]:
        what = repr((requirement, options, sys.version_info[:2]))
        folder = self.directory / hashlib.sha256(what.encode()).hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "lock"):
            done = folder / "downloads"
            if not done.exists():
                partial = folder / "partial"
                self._pip("download", "--dest", str(partial), *options, requirement)
                partial.rename(done)
        return sorted(done.iterdir())

    def _pip(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
        done = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, timeout=600, check=False
        )
        if done.returncode != 0:
            raise ReleaseMissingError(f"pip {' '.join(arguments)} failed: {done.stderr.strip()[-1000:]}")


def wheel_files(wheel: Path) -> dict[str, bytes]:
    """What a wheel installs besides its dist-info, by installed path."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        return {name: archive.read(name) for name in names if ".dist-info/" not in name}
