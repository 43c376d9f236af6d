"""What Linux tells of running processes: proc(5). Those of a container are seen from the host, as root."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from overlaysync.agent import serve
from tests.parts.containers import Container

TICK = os.sysconf("SC_CLK_TCK")


def every() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def command_line(pid: int) -> list[str]:
    """Empty for one that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def peak(pid: int) -> int:
    """The largest resident set that it has had in this program, in bytes; 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def seconds(pids: Iterable[int]) -> float:
    """CPU seconds of these processes, and of their children that have ended."""
    return sum(sum(map(int, _fields(pid)[11:15])) for pid in pids) / TICK


def family(pid: int) -> set[int]:
    """A process and all that descend from it."""
    parents = {other: int(fields[1]) for other in every() if (fields := _fields(other))}
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def children(pid: int) -> list[int]:
    return [other for other in every() if (fields := _fields(other)) and int(fields[1]) == pid]


def is_tool(pid: int) -> bool:
    """Whether it runs our command, and not this suite."""
    return command_line(pid)[1:3] == ["-m", "overlaysync"]


def space_of(container: Container) -> str:
    """The PID namespace of a container; RuntimeError where this user may not see it."""
    pid = container.engine.lines("inspect", "--format", "{{.State.Pid}}", container.name)[0]
    if (space := _space(int(pid))) is None:
        raise RuntimeError("the container's processes cannot be seen from here; run this as root")
    return space


def agents(space: str) -> set[int]:
    """Processes of a PID namespace that run the agent."""
    return {
        pid
        for pid in every()
        if any(serve.__name__ in word for word in command_line(pid)) and _space(pid) == space
    }


def _space(pid: int) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")  # noqa: PTH115 - no path of the file system
    except OSError:
        return None


def _fields(pid: int) -> list[str]:
    """What stands after the name in its ``stat``; empty for one that has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
