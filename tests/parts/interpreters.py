"""The Python interpreters of this machine, and what each needs to run somewhere else."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DESCRIBE = """
import json, site, sys, sysconfig
print(json.dumps([
    "%d.%d" % sys.version_info[:2], sys.version, sysconfig.get_path("stdlib"), sys.implementation.cache_tag,
    any(path.endswith("dist-packages") for path in site.getsitepackages())]))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An installed Python, not a virtual environment."""

    executable: Path
    version: str
    build: str
    library: Path
    cache_tag: str
    has_dist_packages: bool
    """Patched by Debian to install into ``dist-packages``."""

    def files(self) -> Iterator[tuple[str, Path]]:
        """The standard library as (path below the library folder, file): no tests, no GUI, no optimised
        bytecode, nothing that was installed later."""
        for directory, directories, names in os.walk(self.library):
            directories[:] = [name for name in directories if not _is_left_out(name)]
            for name in names:
                path = Path(directory, name)
                compiled = name.endswith(".pyc")
                if compiled and not name.endswith(f".{self.cache_tag}.pyc"):
                    continue
                if path.is_file() and name not in LEFT_OUT_FILES:
                    yield str(path.relative_to(self.library)), path


LEFT_OUT = {"test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3"}
LEFT_OUT_FILES = {"EXTERNALLY-MANAGED"}
"""A container belongs to nobody's package manager; images remove Debian's marker as well."""


def _is_left_out(directory: str) -> bool:
    return directory in LEFT_OUT or directory.startswith("config-") or directory.endswith("-packages")


def interpreter_at(executable: Path) -> Interpreter:
    """Ask an interpreter what it is."""
    resolved = executable.resolve()
    answer = subprocess.run(
        [resolved, "-I", "-c", DESCRIBE], capture_output=True, text=True, timeout=30, check=True
    )
    version, build, library, cache_tag, has_dist_packages = json.loads(answer.stdout)
    return Interpreter(resolved, version, build, Path(library), cache_tag, has_dist_packages)


def running_interpreter() -> Interpreter:
    """The installation behind the Python that runs the tests, also where that is a virtual environment."""
    return interpreter_at(Path(getattr(sys, "_base_executable", sys.executable)))


def debian_interpreter() -> Interpreter | None:
    """Debian's own Python of this machine, if it is one with ``dist-packages``."""
    executable = Path("/usr/bin/python3")
    found = interpreter_at(executable) if executable.exists() else None
    return found if found is not None and found.has_dist_packages else None


def installed_interpreters() -> dict[str, Path]:
    """Every Python 3 found on this machine by version: under pyenv, then beside the system's own."""
    home = pwd.getpwuid(os.getuid()).pw_dir  # HOME is a test's own
    pyenv = Path(os.environ.get("PYENV_ROOT", Path(home, ".pyenv")))
    candidates = [*pyenv.glob("versions/3.*/bin/python3.?*"), *Path("/usr/bin").glob("python3.?*")]
    found: dict[str, Path] = {}
    for candidate in candidates:
        version = candidate.name.removeprefix("python")
        if version.removeprefix("3.").isdigit():
            found.setdefault(version, candidate)
    return found


def libraries_of(programs: list[Path]) -> dict[str, Path]:
    """Shared libraries that programs and extension modules load, by the path where the loader finds them.

    The loader itself stays where the programs name it; all others go into ``/usr/lib``, which Debian's
    loader searches whatever the program's own run path was.
    """
    listing = subprocess.run(["ldd", *programs], capture_output=True, text=True, timeout=60, check=False)
    libraries: dict[str, Path] = {}
    for line in listing.stdout.splitlines():
        match line.split():
            case [name, "=>", path, _] if path.startswith("/"):
                libraries[f"usr/lib/{name}"] = Path(path)
            case [path, _] if path.startswith("/"):
                libraries[f"usr{path}"] = Path(path)
    return libraries
