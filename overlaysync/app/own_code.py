"""The state of our own code: what it worked out is another's as soon as a module is another one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from types import ModuleType


def mark(packages: Iterable[ModuleType], files: Iterable[str] = ()) -> str:
    """Another one where a module of these packages, or one of these files, may be another one.

    Raises OSError where a package is made of no such files.
    """
    paths = list(files)
    for package in packages:
        [directory] = package.__path__
        names = sorted(name for name in os.listdir(directory) if name.endswith(".py"))  # noqa: PTH208
        if not names:
            raise FileNotFoundError(directory)
        paths += [os.path.join(directory, name) for name in names]  # noqa: PTH118
    states = [os.stat(path) for path in paths]  # noqa: PTH116
    rows = [(state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns) for state in states]
    return json.dumps([paths, rows])
