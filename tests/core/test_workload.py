"""Which processes could have the package loaded, as far as can be seen of them."""

from __future__ import annotations

import pytest
from msgspec import structs

from overlaysync.core.workload import Workload, find, judge, judge_stale, orphaned
from overlaysync.model.target import Interpreter, RunningProcess

ROOT = "/opt/venv/lib/python3.11/site-packages"
INTERPRETER = Interpreter(path="/opt/venv/bin/python", real="/usr/bin/python3.11", prefix="/opt/venv")
SERVER = RunningProcess(
    pid=7,
    uid=1000,
    name="python",
    started=0.0,
    command=("python", "-m", "server", "--port", "80"),
    executable="/usr/bin/python3.11",
    python=True,
    prefix="/opt/venv",
    python_path=(),
)


def process(**particulars: object) -> RunningProcess:
    return structs.replace(SERVER, **particulars)


UNKNOWN = process(command=None, executable=None, python=None, prefix=None, python_path=None)
NO_PYTHON = process(
    name="sleep", command=("sleep", "infinity"), executable="/usr/bin/sleep", python=False, prefix=None
)

CASES: dict[str, tuple[RunningProcess, bool]] = {
    "a Python of the environment": (SERVER, True),
    "no Python": (NO_PYTHON, False),
    "no Python, but it has a library of the package loaded": (
        structs.replace(NO_PYTHON, mapped=(f"{ROOT}/pkg/_C.so",)),
        True,
    ),
    "a Python of another environment": (process(prefix="/opt/other"), False),
    "a Python of another environment that sees ours": (
        process(prefix="/opt/other", python_path=(ROOT,)),
        True,
    ),
    "a Python of another environment that sees a directory above": (
        process(prefix="/opt/other", python_path=("/opt/venv/lib/",)),
        True,
    ),
    "a Python of another environment that sees a neighbour": (
        process(prefix="/opt/other", python_path=(f"{ROOT}-old",)),
        False,
    ),
    "our interpreter, the environment unknown": (process(prefix=None, python_path=None), True),
    "another interpreter, the environment unknown": (
        process(prefix=None, python_path=None, executable="/usr/bin/python3.13"),
        True,
    ),
    "everything unknown": (UNKNOWN, True),
    "its command line erased": (process(command=None), True),
}


def found(*processes: RunningProcess, ignore: tuple[str, ...] = (), whole_machine: bool = False) -> Workload:
    return find(processes, INTERPRETER, ROOT, ignore=ignore, whole_machine=whole_machine)


@pytest.mark.parametrize(("running", "counts"), CASES.values(), ids=CASES)
def test_what_could_have_the_package_loaded_counts(running: RunningProcess, counts: bool) -> None:
    workload = found(running)
    assert bool(workload.processes) is counts
    assert workload.record.checked == 1
    assert [problem.code for problem in judge(workload)] == ["workload"] * counts


def test_on_a_whole_machine_a_process_of_which_nothing_is_seen_is_somebody_elses() -> None:
    assert found(UNKNOWN, whole_machine=True).processes == ()
    assert found(UNKNOWN).processes == (UNKNOWN,)
    embedded = process(prefix=None, executable="/usr/bin/uwsgi")
    assert found(embedded, whole_machine=True).processes == ()
    assert found(embedded).processes == (embedded,)
    assert found(SERVER, whole_machine=True).processes == (SERVER,)


@pytest.mark.parametrize(
    ("pattern", "ignored"),
    [
        ("python", True),
        ("python -m server*", True),
        ("*--port 80", True),
        ("python -m server", False),
        ("Python", False),
        ("server", False),
    ],
)
def test_the_configuration_may_ignore_by_name_or_whole_command(pattern: str, ignored: bool) -> None:
    workload = found(SERVER, ignore=("jupyter-lab*", pattern))
    assert (workload.processes == ()) is ignored
    assert workload.record.ignored == (("7 python",) if ignored else ())


def test_an_ignored_process_does_not_hide_another() -> None:
    other = process(pid=8, command=("python", "train.py"))
    assert found(SERVER, other, ignore=("python -m server*",)).processes == (other,)


def test_a_process_is_named_by_pid_command_user_and_start() -> None:
    (problem,) = judge(found(process(started=86400.0)))
    for text in ("7", "python -m server --port 80", "uid 1000", "1970-01-02 00:00:00Z"):
        assert text in problem.message
    assert problem.next_step.endswith(": kill 7")


def test_what_ends_a_process_in_a_container_can_be_typed() -> None:
    shell = "docker exec --user root my-dev sh -c"
    workload = find([SERVER], INTERPRETER, ROOT, ignore=(), whole_machine=False, shell=shell)
    (problem,) = judge(workload)
    assert problem.next_step.endswith(": docker exec --user root my-dev sh -c 'kill 7'")


def test_without_a_command_line_the_name_is_shown() -> None:
    (problem,) = judge(found(process(command=None, name="VLLM::Worker")))
    assert "[VLLM::Worker]" in problem.message


def test_the_main_process_of_a_container_is_not_to_be_killed() -> None:
    (problem,) = judge(found(process(pid=1)))
    assert "kill" not in problem.next_step


def test_processes_that_cannot_be_listed_are_no_proof_of_anything() -> None:
    workload = find(None, INTERPRETER, ROOT, ignore=("*",), whole_machine=False)
    assert [problem.code for problem in judge(workload)] == ["workload-unknown"]
    assert judge(found()) == []


def test_a_process_from_before_the_push_is_stale() -> None:
    workload = found(process(started=10.0), process(pid=8, started=20.0))
    assert [problem.code for problem in judge_stale(workload, 15.0)] == ["stale-process"]
    assert judge_stale(workload, 5.0) == []


def test_a_fork_whose_parent_is_gone_is_no_finding_and_is_told() -> None:
    workload = found(process(started=20.0, orphaned=True), process(pid=8, started=20.0))
    assert judge_stale(workload, 15.0) == []
    assert [note.partition(" was")[0] for note in orphaned(workload)] == ["process 7 python"]
