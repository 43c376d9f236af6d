"""Where Pythons, environments and distributions may be in the target, before any of them is asked."""

from __future__ import annotations

import os
import re
import sys

from overlaysync.agent.frames import to_path, to_text

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = re.compile(rb"python(\d(\.\d+t?)?)?\Z")
USUAL_DIRECTORIES = (
    b"/usr/local/bin",
    b"/usr/bin",
    b"/opt/*/bin",
    b"/opt/conda/envs/*/bin",
    b"/venv*/bin",
    b"/.venv/bin",
    b"/app/.venv/bin",
    b"/app/venv/bin",
    b"/workspace/.venv/bin",
    b"/workspace/venv/bin",
    b"/root/.venv/bin",
    b"/root/venv/bin",
    b"/root/miniconda3/bin",
    b"/root/miniconda3/envs/*/bin",
    b"/home/*/.venv/bin",
    b"/home/*/venv/bin",
    b"/home/*/miniconda3/bin",
)
NO_HOMES = (b"/proc", b"/sys", b"/dev", b"/usr", b"/bin", b"/sbin", b"/lib", b"/lib64", b"/boot", b"/run")
DEPTH, MOST = 3, 5000
"""So deep below the root, and in so many directories, environments are looked for."""


def candidates(environment: dict[bytes, bytes], directory: bytes, hints: Sequence[bytes]) -> list[bytes]:
    """Paths of Pythons worth asking, one for each (real file, prefix).

    ``environment`` and ``directory`` are the workload's. ``hints`` are programs that may be Pythons; what is
    not named like one is never started.
    """
    directories = environment.get(b"PATH", os.fsencode(os.defpath)).split(b":")
    for name in (b"VIRTUAL_ENV", b"CONDA_PREFIX"):
        if environment.get(name):
            directories.append(os.path.join(environment[name], b"bin"))
    directories.append(os.path.join(directory, b".venv", b"bin"))
    for pattern in USUAL_DIRECTORIES:
        directories.extend(_expanded(pattern))
    directories.extend(os.path.join(place, b"bin") for place in environments([b"/", directory]))
    paths = [*hints, os.fsencode(sys.executable or "")]
    for place in directories:
        if os.path.isabs(place):
            paths.extend(os.path.join(place, name) for name in _names(place))
    chosen: dict[tuple[bytes, bytes], bytes] = {}
    for path in paths:
        if NAME.match(os.path.basename(path)) and os.access(path, os.X_OK) and os.path.isfile(path):
            chosen.setdefault((os.path.realpath(path), prefix_of(path)), path)
    return list(chosen.values())


def environments(starts: Sequence[bytes]) -> list[bytes]:
    """Virtual environments (PEP 405) a few levels below some directories: they need not be on any path."""
    found, level, seen = [], list(starts), 0
    for _ in range(DEPTH):
        below = []
        for directory in level:
            for place in _directories(directory):
                seen += 1
                if os.path.isfile(os.path.join(place, b"pyvenv.cfg")):
                    found.append(place)
                elif place not in NO_HOMES:
                    below.append(place)
            if seen > MOST:
                return found
        level = below
    return found


def _directories(path: bytes) -> list[bytes]:
    try:
        with os.scandir(path) as entries:
            return sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _names(directory: bytes) -> list[bytes]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def _expanded(pattern: bytes) -> list[bytes]:
    """The directories that a pattern with at most one ``*``, at the end of a component, stands for."""
    head, star, tail = pattern.partition(b"*")
    if not star:
        return [pattern]
    above, start = os.path.split(head)
    return [os.path.join(above, name) + tail for name in _names(above) if name.startswith(start)]


def prefix_of(path: bytes) -> bytes:
    """``sys.prefix`` as the interpreter at ``path`` would find it, without running it.

    A ``pyvenv.cfg`` beside or above the executable as it was named decides (PEP 405); else the place of the
    real file.
    """
    directory = os.path.dirname(os.path.abspath(path))
    for home in (directory, os.path.dirname(directory)):
        if os.path.isfile(os.path.join(home, b"pyvenv.cfg")):
            return os.path.realpath(home)
    return os.path.dirname(os.path.dirname(os.path.realpath(path)))


def suspected(prefix: bytes, distribution: str, *, asked: bool) -> str | None:
    """A dist-info of the project, by its name alone (PEP 503), that an interpreter does not show.

    It lies below the interpreter's prefix; or, where that was ``asked`` and so does not look there, below
    ``/usr/local``, where installers and interpreters of a system disagree about directories.
    """
    words = re.split(rb"[-_.]+", to_path(distribution))
    name = re.compile(rb"[-_.]+".join(map(re.escape, words)) + rb"-[^-]+\.dist-info\Z", re.IGNORECASE)
    for above in (prefix, b"/usr/local") if asked else (prefix,):
        for directory in (b"site-packages", b"dist-packages"):
            for place in _expanded(os.path.join(above, b"lib/python*", directory)):
                for entry in filter(name.match, _names(place)):
                    return to_text(os.path.join(place, entry))
    return None
