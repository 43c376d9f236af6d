"""Which processes of the target could have the package loaded."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

from msgspec import Struct

from overlaysync.model.manifest import WorkloadRecord
from overlaysync.model.problem import Problem
from overlaysync.model.target import Interpreter, RunningProcess


class Workload(Struct, frozen=True):
    """The processes that count, and the record of the check. ``known``: they could be listed at all.

    ``ignored``: would count, but for the configuration. ``shell``: see ``Transport``.
    """

    known: bool = True
    processes: tuple[RunningProcess, ...] = ()
    ignored: tuple[RunningProcess, ...] = ()
    record: WorkloadRecord = WorkloadRecord()
    shell: str = ""


def find(
    processes: Sequence[RunningProcess] | None,
    interpreter: Interpreter,
    root: str,
    *,
    ignore: Sequence[str],
    whole_machine: bool,
    shell: str = "",
) -> Workload:
    """Processes that could have the package of ``root`` loaded, less those that the configuration ignores.

    ``whole_machine``: the processes are all of a machine, not a container's own. There, one of which nothing
    at all can be seen is somebody else's service, not an unknown part of the workload.
    """
    if processes is None:
        return Workload(known=False)
    counted, ignored = [], []
    for process in processes:
        if whole_machine and process.python is None and not process.mapped:
            continue
        if not could_have_loaded(process, interpreter, root, whole_machine=whole_machine):
            continue
        if any(_matches(process, pattern) for pattern in ignore):
            ignored.append(process)
        else:
            counted.append(process)
    named = tuple(map(_name, ignored))
    record = WorkloadRecord(checked=len(processes), ignored=named)
    return Workload(True, tuple(counted), tuple(ignored), record, shell)


def _name(process: RunningProcess) -> str:
    """For records: a command line may hold secrets."""
    return f"{process.pid} {process.name}"


def could_have_loaded(
    process: RunningProcess, interpreter: Interpreter, root: str, *, whole_machine: bool
) -> bool:
    """Mapped files are proof; else a Python counts unless it is known to be another environment's.

    What is unknown counts: a process may have erased its command line and environment (``setproctitle``). On
    a whole machine only a process of the very interpreter counts so.
    """
    if process.mapped:
        return True
    if process.python is False:
        return False
    if process.prefix is None:
        return not whole_machine or process.executable in (interpreter.real, interpreter.path)
    environments = {process.prefix, process.base_prefix} - {None}
    if interpreter.prefix in environments:
        return True
    return any(_holds(place, root) for place in (*environments, *(process.python_path or ())))


def _holds(place: str | None, root: str) -> bool:
    return place is not None and (root + "/").startswith(place.rstrip("/") + "/")


def _matches(process: RunningProcess, pattern: str) -> bool:
    return any(fnmatch.fnmatchcase(text, pattern) for text in (process.name, " ".join(process.command or ())))


SECRET = re.compile(r"(key|token|secret|passw|credential|auth)", re.IGNORECASE)


def describe(process: RunningProcess) -> str:
    """The command line, without the values of options and variables that are named like secrets."""
    if not process.command:
        return f"[{process.name}]"
    shown, hide = [], False
    for word in process.command:
        name, equals, _ = word.partition("=")
        secret = SECRET.search(name) is not None and (equals != "" or name.startswith("-"))
        shown.append("***" if hide else f"{name}=***" if secret and equals else word)
        hide = secret and not equals
    return " ".join(shown)


def judge(workload: Workload) -> list[Problem]:
    """A problem for each process that counts; one when they could not be listed."""
    if not workload.known:
        return [_unknown()]
    return [
        Problem(
            code="workload",
            message=f"process {process.pid} could have the package loaded: {describe(process)[:200]} "
            f"(uid {process.uid}, started {_moment(process.started)})",
            next_step=_remedy(process, workload.shell),
        )
        for process in workload.processes
    ]


def _remedy(process: RunningProcess, shell: str) -> str:
    if process.pid == 1:  # of a container: with it, everything ends
        return "start the container with another main process (sleep infinity), and the workload in it later"
    kill = f"{shell} 'kill {process.pid}'" if shell else f"kill {process.pid}"
    return f"name it in workload-ignore, or end it: {kill}"


def judge_stale(workload: Workload, changed_at: float) -> list[Problem]:
    """Processes whose program started before the last transaction ended (the kernel counts starts in 10 ms).

    What was forked later from such a process has its modules, and is told as well.
    """
    return [
        Problem(
            code="stale-process",
            message=f"process {process.pid} {_since(process, changed_at)} and may run the old code: "
            f"{describe(process)[:200]} (uid {process.uid}, started {_moment(process.started)})",
            next_step="restart it",
        )
        for process in workload.processes
        if _loaded(process) < changed_at
    ]


def stale_ignored(workload: Workload, changed_at: float) -> list[str]:
    """Notes on ignored processes that have what was there before, as far as they loaded it."""
    return [
        f"process {_name(process)} (workload-ignore) {_since(process, changed_at)}: "
        "it keeps the code that it has loaded"
        for process in workload.ignored
        if _loaded(process) < changed_at
    ]


def orphaned(workload: Workload) -> list[str]:
    """Notes on processes of which nothing tells whether what they loaded is from before the last push."""
    return [
        f"process {_name(process)} was forked, and when its program started is not to be seen (its parent is "
        "gone, or another user's): whether it has loaded what was there before the last push is unknown"
        for process in (*workload.processes, *workload.ignored)
        if process.orphaned
    ]


def _loaded(process: RunningProcess) -> float:
    return process.started if process.loaded is None else process.loaded


def _since(process: RunningProcess, changed_at: float) -> str:
    if process.started < changed_at:
        return "started before the last push"
    return "was forked from a process that started before the last push"


def looked_at_first(process: RunningProcess, root: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Where a process looks for top-level names before it comes to the install root: (directory, name)."""
    for place in (process.first_on_path, *(process.python_path or ())):
        if place == root:
            return
        if place is not None:
            yield from ((place, name) for name in names)


def judge_first(process: RunningProcess, place: str, name: str) -> Problem:
    """A process that finds another package of the name."""
    return Problem(
        code="shadowed",
        message=f"process {process.pid} finds {name} in {place} first, which is not what was pushed: "
        f"{describe(process)[:200]}",
        next_step="start it from elsewhere, or remove what is there",
    )


def _unknown() -> Problem:
    return Problem(
        code="workload-unknown",
        message="the target's processes cannot be listed (no /proc), so a workload cannot be ruled out",
        next_step="mount /proc in the target",
    )


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")
