"""System calls of an agent under strace: those that change something are listed, and chosen ones fail."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.fork_server import Attach

LASTING = ("renameat", "linkat", "unlinkat", "mkdirat", "fsync", "fchmod", "fchown", "utimensat")
"""What a file system that went read-only or broke lets nobody do, whichever file it is about."""

CALLS = (*LASTING, "openat", "write")
"""These two are also used for what lies elsewhere: Python's own modules, and the answers to the host."""

LINE = re.compile(r"(?P<name>\w+)\((?P<arguments>.*)")


@dataclass(frozen=True)
class Point:
    """The ``ordinal``-th use of one system call by the agent, counted from 1.

    ``changes``: whether it changes something. ``reached``: how often each call was used before.
    """

    name: str
    ordinal: int
    changes: bool
    reached: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return f"{self.name}-{self.ordinal}"

    def once(self, effect: str) -> list[str]:
        """``effect`` is strace's: ``signal=SIGKILL``, ``error=EIO``."""
        return [f"{self.name}:{effect}:when={self.ordinal}"]

    def from_here(self, effect: str) -> list[str]:
        """It, and from then on everything that changes something."""
        reached = dict(self.reached)
        rest = [f"{name}:{effect}:when={reached.get(name, 0) + 1}+" for name in LASTING]
        return rest if self.name in LASTING else [*rest, *self.once(effect)]


def tracing(log: Path, injections: Sequence[str], names: Iterable[str] = CALLS) -> Attach:
    """Logs the calls ``names``; ``injections`` are strace's.

    Without ``--seccomp-bpf``, with which strace 6.1 delivers no signals.
    """
    options = [f"--trace={','.join(names)}", *(f"--inject={injection}" for injection in injections)]
    command = ["strace", "-qq", "-y", "-o", str(log), *options, "-p"]
    return lambda pid: subprocess.Popen([*command, str(pid)])


def was_injected(log: Path) -> bool:
    return "(INJECTED)" in log.read_text(errors="replace")


def points(log: Path, directory: Path, never: Container[str] = ()) -> list[Point]:
    """The calls on what is below ``directory``, from the first that changes something, in their order."""
    found = [point for point in _points(log, str(directory)) if point.name not in never]
    while found and not found[0].changes:
        del found[0]
    return found


def _points(log: Path, directory: str) -> Iterable[Point]:
    counter: Counter[str] = Counter()
    for line in log.read_text(errors="replace").splitlines():
        match = LINE.match(line)
        if match is None or match["name"] not in CALLS:
            continue
        name, arguments = match["name"], match["arguments"]
        reached = tuple(sorted(counter.items()))
        counter[name] += 1
        if directory in arguments:
            yield Point(name, counter[name], name != "openat" or "O_CREAT" in arguments, reached)


def trouble_with_strace() -> str | None:
    """Why strace cannot be used here, or None."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat", "true"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return None if done.returncode == 0 else f"strace cannot trace here: {done.stderr.strip()}"
