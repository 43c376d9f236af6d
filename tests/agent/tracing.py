"""An agent under strace: its system calls are counted, and one of them fails or kills it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from overlaysync.targets.local import LocalTransport
from overlaysync.targets.pipes import ChildProcess

CALLS = ("renameat", "linkat", "unlinkat", "mkdirat", "openat", "fsync", "fchmod", "fchown", "write")
LINE = re.compile(r"\d+\s+(?P<name>\w+)\((?P<arguments>.*)")


class Point(NamedTuple):
    """The ``ordinal``-th use of one system call by the agent, counted from 1."""

    name: str
    ordinal: int

    def __str__(self) -> str:
        return f"{self.name}-{self.ordinal}"


class TracedTransport(LocalTransport):
    """Starts the agent under strace with these options."""

    def __init__(self, prefix: Path, interpreter: Path, *options: str) -> None:
        super().__init__(str(prefix), interpreter=str(interpreter))
        self.options = options

    def start(self, argv: Sequence[str]) -> ChildProcess:
        return ChildProcess(["strace", "-f", "-qq", *self.options, *argv])


def counting(prefix: Path, interpreter: Path, log: Path) -> TracedTransport:
    return TracedTransport(prefix, interpreter, "-y", "-o", str(log), "-e", f"trace={','.join(CALLS)}")


def failing(prefix: Path, interpreter: Path, point: Point, effect: str) -> TracedTransport:
    """``effect`` is strace's: ``signal=SIGKILL``, ``error=EIO``.

    Without ``--seccomp-bpf``, with which strace 6.1 delivers no signals.
    """
    inject = f"inject={point.name}:{effect}:when={point.ordinal}"
    return TracedTransport(prefix, interpreter, "-o", "/dev/null", "-e", f"trace={point.name}", "-e", inject)


def points(log: Path, root: Path) -> list[Point]:
    """The traced calls that change something below ``root``, in their order."""
    return list(_points(log.read_text(errors="replace").splitlines(), str(root)))


def _points(lines: Iterable[str], root: str) -> Iterable[Point]:
    counter: Counter[str] = Counter()
    for line in lines:
        match = LINE.match(line)
        if match is None or match["name"] not in CALLS:
            continue
        counter[match["name"]] += 1
        reads = match["name"] == "openat" and "O_CREAT" not in match["arguments"]
        if root in match["arguments"] and not reads:
            yield Point(match["name"], counter[match["name"]])


def trouble_with_strace() -> str | None:
    """Why strace cannot be used here, or None."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat", "true"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return None if done.returncode == 0 else f"strace cannot trace here: {done.stderr.strip()}"
