"""Processes of the target that are, or could be, Pythons. Facts only; the host decides (proc(5))."""

from __future__ import annotations

import os
import re
import time

from overlaysync.agent import loaded
from overlaysync.agent.frames import to_text
from overlaysync.agent.inspection import STARTER
from overlaysync.agent.places import prefix_of
from overlaysync.agent.request import Request
from overlaysync.agent.started import first_on_path

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from typing import Any

KERNEL_THREAD, FORKED = 0x00200000, 0x40  # PF_KTHREAD, PF_FORKNOEXEC in the flags field of /proc/PID/stat
PYTHON = re.compile(rb"(python|pypy)[\d.]*[dtmu]*(-config)?$")  # letters: ABI flags of special builds
LOADED = (b"/libpython", b"/lib-dynload/", b".cpython-", b".abi3.so")
"""In the memory of a Python of any name: its library, or extension modules where that is built in."""
STARTERS = ("runc", "crun", "youki")
"""Runtimes of engines. One that starts something (a health check) hides itself until it becomes that."""
STARTING = 2.0  # seconds that it is given
DELETED = b" (deleted)"
SYSTEM_SITE = re.compile(rb"^include-system-site-packages\s*=\s*true\s*$", re.IGNORECASE | re.MULTILINE)
SCRIPT_LINE = re.compile(rb"#!\s*(\S+)(?:\s+(\S+))?")


def survey(request: Request, groups: set[int]) -> list[dict[str, Any]] | None:
    """Rows for every process but this agent's own; None where they cannot all be listed.

    ``groups``: process groups of this agent: what start-up hooks of its interpreters leave running ends with
    them. Processes that are certainly no Python and have no file of ``root`` mapped are left out.
    """
    ignored = {os.getpid(), *request.rows("ignore_pids")}
    own = _own_programs()
    root = request.optional_path("root")
    try:
        pids = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
        boot = _boot_time()
    except OSError:
        return None
    if os.getpid() not in pids or 1 not in pids:
        return None  # of another PID namespace, or mounted so that it hides the processes of others

    def look(pid: int) -> dict[str, Any] | None:
        row = None if _is_ours(pid, own) else _describe(pid, root, boot, groups)
        return None if row is not None and _is_unknown(row) and _has_ended(row, boot) else row

    rows = {pid: look(pid) for pid in pids if pid not in ignored}
    patience = time.monotonic() + STARTING
    unclear = [pid for pid, row in rows.items() if row is not None and _is_nameless(row)]
    while time.monotonic() < patience:
        unclear += [pid for pid, row in rows.items() if row is not None and _is_starter(row)]
        if not unclear:
            break
        time.sleep(0.02)
        rows.update({pid: look(pid) for pid in unclear})
        unclear = []
    return loaded.since([row for row in rows.values() if row is not None])


def _own_programs() -> tuple[bytes, ...]:
    """The programs that agents of ours run, as they stand on a command line (``-c PROGRAM``)."""
    command = _strings(b"/proc/self/cmdline") or []
    agent = command[command.index(b"-c") + 1] if b"-c" in command[:-1] else STARTER.encode("ascii")
    return agent, STARTER.encode("ascii")


def _is_ours(pid: int, programs: tuple[bytes, ...]) -> bool:
    """Whether a process is another run's agent, or what it asks: the lock tells of it, it is no workload."""
    command = _strings(b"/proc/%d/cmdline" % pid) or []
    return any(program in command for program in programs)


def _is_starter(row: dict[str, Any]) -> bool:
    command = row.get("command") or [""]
    return row.get("python") is None and command[0].rpartition("/")[2] in STARTERS


def _is_nameless(row: dict[str, Any]) -> bool:
    """A Python without a command line: it erased it for good, or is being started just now (execve(2))."""
    return row.get("python") is not False and row.get("command") is None


def _boot_time() -> float:
    """When the system started; ``/proc/stat`` knows the second only, so that a process would seem older."""
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


def _describe(pid: int, root: bytes | None, boot: float, groups: set[int]) -> dict[str, Any] | None:
    """The host's ``RunningProcess``, or None for what has ended, is of no interest or is our own."""
    place = b"/proc/%d/" % pid
    try:
        with open(place + b"stat", "rb") as stream:
            name, state, parent, group, flags, started, stack = _stat_fields(stream.read())
    except PermissionError:
        return {"pid": pid, "uid": _uid(place), "name": "unknown", "started": 0.0}
    except OSError:
        return None
    if state == b"Z" or flags & KERNEL_THREAD or parent == os.getpid() or group in groups:
        return None
    try:
        executable = os.readlink(place + b"exe")
    except FileNotFoundError:
        return None  # it has given up its memory already: it is about to end
    except OSError:
        executable = None
    command = _strings(place + b"cmdline")
    maps = _read(place + b"maps")
    python = _is_python(name, command, executable, maps)
    mapped = sorted({*loaded.mapped(maps, root), *loaded.opened(place, root)})
    if python is False and not mapped:
        return None
    environment = _environment(place)
    if executable is not None and executable.endswith(DELETED):
        executable = executable[: -len(DELETED)]  # its file was replaced while it ran
    directory = _link(place + b"cwd")
    launched = _launched_as(command, executable, environment, directory)
    safe = bool((environment or {}).get(b"PYTHONSAFEPATH"))
    first = None if command is None or launched is None else first_on_path(command, safe, directory)
    return {
        "pid": pid,
        "uid": _uid(place),
        "name": to_text(name),
        "started": _since(boot, started),
        "stack": stack,
        "forked": bool(flags & FORKED),
        "command": None if command is None else [to_text(part) for part in command],
        "executable": None if executable is None else to_text(executable),
        "python": python,
        "launched_as": None if launched is None else to_text(launched),
        "prefix": None if launched is None else to_text(prefix_of(launched)),
        "base_prefix": None if launched is None else _base_prefix(launched),
        "first_on_path": None if first is None else to_text(first),
        "python_path": None if environment is None else _python_path(environment, directory),
        "mapped": [to_text(path) for path in mapped],
    }


def _is_unknown(row: dict[str, Any]) -> bool:
    """Whether something was not to be had; of a process that ended while it was looked at, nothing is."""
    return None in (row.get("command"), row.get("launched_as"), row.get("python_path"))


def _has_ended(row: dict[str, Any], boot: float) -> bool:
    """Whether a process is no more, or another one has its number by now."""
    try:
        with open("/proc/%d/stat" % row["pid"], "rb") as stream:
            _, state, _, _, _, started, _ = _stat_fields(stream.read())
    except PermissionError:
        return False
    except OSError:
        return True
    return state in (b"Z", b"X") or _since(boot, started) != row["started"]


def _since(boot: float, started: int) -> float:
    """The time at which a process started, in seconds since the epoch."""
    return boot + started / os.sysconf("SC_CLK_TCK")


def _stat_fields(stat: bytes) -> tuple[bytes, bytes, int, int, int, int, int]:
    """(comm, state, ppid, pgrp, flags, start time in ticks, address of the stack).

    comm may hold anything, even spaces and brackets; the address is 0 where it may not be seen.
    """
    name = stat[stat.index(b"(") + 1 : stat.rindex(b")")]
    rest = stat[stat.rindex(b")") + 2 :].split()
    return name, rest[0], int(rest[1]), int(rest[2]), int(rest[6]), int(rest[19]), int(rest[25])


def _read(path: bytes) -> bytes | None:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError:
        return None


def _link(path: bytes) -> bytes | None:
    try:
        return os.readlink(path)
    except OSError:
        return None


def _uid(place: bytes) -> int:
    try:
        return os.stat(place).st_uid
    except OSError:
        return -1


def _strings(path: bytes) -> list[bytes] | None:
    """NUL-separated strings, or None where they are unknown: unreadable, or erased by the process itself."""
    content = _read(path)
    if not content or not content.strip(b"\0"):
        return None
    return content.rstrip(b"\0").split(b"\0")


def _environment(place: bytes) -> dict[bytes, bytes] | None:
    pairs = _strings(place + b"environ")
    if pairs is None:
        return None
    named = (pair.partition(b"=") for pair in pairs if b"=" in pair)
    return {name: value for name, _, value in named}


def _is_python(
    name: bytes, command: list[bytes] | None, executable: bytes | None, maps: bytes | None
) -> bool | None:
    """True, False, or None where neither executable nor memory can be seen and nothing else tells."""
    if executable is not None and maps is not None:
        file = executable.replace(b" (deleted)", b"")
        return bool(PYTHON.match(os.path.basename(file)) or any(mark in maps for mark in LOADED))
    if PYTHON.match(name) or (command and PYTHON.match(os.path.basename(command[0]))):
        return True
    resolved = _program(command)
    if resolved is None:
        return None
    return _script_interpreter(resolved) is not None


def _program(command: list[bytes] | None) -> bytes | None:
    """The existing program that a command line names, or None."""
    if not command:
        return None
    if b"/" in command[0]:
        return command[0] if os.path.isfile(command[0]) else None
    for directory in os.fsencode(os.environ.get("PATH", os.defpath)).split(b":"):
        path = os.path.join(directory, command[0])
        if os.path.isfile(path):
            return path
    return None


def _script_interpreter(path: bytes) -> bytes | None:
    """The Python that a script's first line names, or None."""
    try:
        with open(path, "rb") as stream:
            match = SCRIPT_LINE.match(stream.readline(512))
    except OSError:
        return None
    for part in match.groups() if match else ():
        if part and PYTHON.match(os.path.basename(part)):
            return part
    return None


def _launched_as(
    command: list[bytes] | None,
    executable: bytes | None,
    environment: dict[bytes, bytes] | None,
    directory: bytes | None,
) -> bytes | None:
    """The interpreter's path as it was started: a virtual environment is told by it, not by the real file."""
    if command is None or not PYTHON.match(os.path.basename(command[0])):
        return None
    program = command[0]
    found: bytes | None
    if os.path.isabs(program):
        found = program
    elif b"/" in program:
        found = os.path.join(directory, program) if directory else None
    elif environment is None:
        return None
    else:
        places = environment.get(b"PATH", os.fsencode(os.defpath)).split(b":")
        found = next(
            (p for p in (os.path.join(place, program) for place in places) if os.path.isfile(p)), None
        )
    if found is None or not os.path.isfile(found):
        return None
    if executable is not None and os.path.realpath(found) != executable:
        return None  # argv[0] is only a claim; here it names another program than the one that runs
    return found


def _base_prefix(launched: bytes) -> str | None:
    """The environment that a virtual environment sees too (PEP 405); None where it sees none but itself."""
    prefix = prefix_of(launched)
    content = _read(os.path.join(prefix, b"pyvenv.cfg"))
    if content is None or not SYSTEM_SITE.search(content):
        return None
    return to_text(os.path.dirname(os.path.dirname(os.path.realpath(launched))))


def _python_path(environment: dict[bytes, bytes], directory: bytes | None) -> list[str]:
    """``PYTHONPATH`` with links resolved; relative entries are below the process's own directory."""
    entries = environment.get(b"PYTHONPATH", b"").split(b":")
    return [to_text(os.path.realpath(os.path.join(directory or b"/", entry))) for entry in entries if entry]
