"""Processes that are, or could be, Pythons of the environment: what is not known is unknown, never empty."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from overlaysync.agent import processes
from overlaysync.agent.request import Request
from overlaysync.model.target import RunningProcess
from overlaysync.remote.session import AgentSession
from tests.agent.nobody import connect_as_nobody, needs_root
from tests.agent.vocabulary import Site

WAIT = "import sys, time; print('ready', flush=True); time.sleep(600)"

Run = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def run() -> Iterator[Run]:
    """Starts processes that say ``ready``; they are killed when the test is over."""
    started: list[subprocess.Popen[str]] = []

    def run_one(*argv: str | Path, **options: object) -> subprocess.Popen[str]:
        words = [str(word) for word in argv]
        child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload]
        started.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        return child  # type: ignore[no-any-return]

    yield run_one
    for child in started:
        child.kill()
        child.wait()


@pytest.fixture
def copied(python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python of its own file: one that hides its command line holds up pushes to all that share its file.

    Tests that run at the same time push to environments of the machine's own.
    """
    home = python.parent.parent
    monkeypatch.setenv("PYTHONHOME", str(home))
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{home}/lib")
    return Path(shutil.copy2(python.resolve(), tmp_path / "python3.99t"))


def find(session: AgentSession, pid: int, root: Path | str | None = None) -> RunningProcess | None:
    found = session.processes(None if root is None else str(root), [])
    assert found is not None
    return next((process for process in found if process.pid == pid), None)


def test_a_python_process(session: AgentSession, run: Run, python: Path, tmp_path: Path) -> None:
    before = time.time()
    child = run(python, "-c", WAIT, cwd=tmp_path, env={"PYTHONPATH": "/one:/two", "LANG": "C"})
    found = find(session, child.pid, tmp_path)
    assert found is not None
    assert (found.python, found.uid) == (True, os.geteuid())
    assert found.command == (str(python), "-c", WAIT)
    assert found.executable == str(python.resolve())
    assert found.launched_as == str(python)
    assert found.prefix == str(python.parent.parent)
    assert found.python_path == ("/one", "/two")
    assert found.mapped == ()
    assert abs(found.started - before) < 30


def test_the_agent_and_what_is_to_be_ignored_are_left_out(
    session: AgentSession, run: Run, python: Path
) -> None:
    child = run(python, "-c", WAIT)
    found = session.processes(None, [os.getpid()])
    assert found is not None
    pids = {process.pid for process in found}
    assert session.hello.pid not in pids
    assert os.getpid() not in pids
    assert child.pid in pids


def test_what_is_certainly_no_python_is_left_out(session: AgentSession, run: Run) -> None:
    child = run("sh", "-c", "echo ready; exec sleep 600")
    time.sleep(0.1)
    assert find(session, child.pid, "/nowhere") is None


def test_files_of_the_distribution_in_memory(
    session: AgentSession, run: Run, python: Path, site: Site
) -> None:
    site.write("sample/part.so", b"x" * 4096)
    code = f"import mmap; f = open({str(site.root / 'sample/part.so')!r}, 'rb'); "
    code += f"m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); {WAIT}"
    child = run(python, "-c", code)
    found = find(session, child.pid, site.root)
    assert found is not None
    assert found.mapped == (f"{site.root}/sample/part.so",)
    found = find(session, child.pid)
    assert found is not None
    assert found.mapped == ()


def test_any_program_that_has_the_distribution_mapped(
    session: AgentSession, run: Run, site: Site, tmp_path: Path
) -> None:
    """An embedded interpreter need not be called Python."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("a program of our own needs a C compiler")
    source = tmp_path / "server.c"
    source.write_text(
        "#include <fcntl.h>\n#include <stdio.h>\n#include <sys/mman.h>\n#include <unistd.h>\n"
        "int main(int n, char **a) { mmap(0, 4096, PROT_READ, MAP_PRIVATE, open(a[1], O_RDONLY), 0);\n"
        ' puts("ready"); fflush(stdout); sleep(600); return n; }\n'
    )
    server = tmp_path / "server"
    subprocess.run([compiler, "-o", str(server), str(source)], check=True)
    site.write("sample/part.so", b"x" * 4096)
    child = run(server, site.root / "sample/part.so")
    found = find(session, child.pid, site.root)
    assert found is not None
    assert (found.python, found.mapped) == (False, (f"{site.root}/sample/part.so",))
    assert find(session, child.pid, "/elsewhere") is None


def test_any_program_that_has_a_file_of_the_distribution_open(
    session: AgentSession, run: Run, site: Site
) -> None:
    with (site.root / "sample/data.json").open() as opened:
        child = run("sh", "-c", "echo ready; exec sleep 600", stdin=opened)
        found = find(session, child.pid, site.root)
        assert found is not None
        assert (found.python, found.mapped) == (False, (f"{site.root}/sample/data.json",))
    child = run("sh", "-c", "echo ready; exec sleep 600", cwd=site.root)
    assert find(session, child.pid, site.root) is None


def test_what_was_forked_has_what_its_parent_loaded(session: AgentSession, run: Run, python: Path) -> None:
    """E16: a fork server preloads, and its children start later."""
    code = """
import os, subprocess, sys, time
time.sleep(0.1)
forked = os.fork()
if forked == 0:
    time.sleep(600)
started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("ready", flush=True)
print(forked, started.pid, flush=True)
time.sleep(600)
"""
    parent = run(python, "-c", code)
    assert parent.stdout is not None
    forked, started = map(int, parent.stdout.readline().split())
    found = {row.pid: row for row in session.processes(None, []) or ()}  # one look: one idea of the time
    for pid in (forked, started):
        os.kill(pid, signal.SIGKILL)
    first, child, other = (found[pid] for pid in (parent.pid, forked, started))
    assert first.started < child.started <= other.started
    assert [row.loaded for row in (first, child, other)] == [first.started, first.started, other.started]
    assert not any(row.orphaned for row in (first, child, other))


def test_a_fork_whose_parent_is_gone_may_have_what_that_one_loaded(
    session: AgentSession, run: Run, python: Path
) -> None:
    """As a server that makes a daemon of itself. One that is started anew has nothing of it."""
    code = """
import os, subprocess, sys, time
if os.fork():
    os._exit(0)
started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("ready", flush=True)
print(os.getpid(), started.pid, flush=True)
time.sleep(600)
"""
    parent = run(python, "-c", code)
    assert parent.stdout is not None
    forked, started = map(int, parent.stdout.readline().split())
    parent.wait(10)
    found = {row.pid: row for row in session.processes(None, []) or ()}
    for pid in (forked, started):
        os.kill(pid, signal.SIGKILL)
    assert (found[forked].orphaned, found[started].orphaned) == (True, False)


def test_a_virtual_environment_is_told_from_its_base(
    session: AgentSession, run: Run, python: Path, tmp_path: Path
) -> None:
    venv = tmp_path / "venv"
    subprocess.run([str(python), "-m", "venv", "--without-pip", str(venv)], check=True, timeout=60)
    absolute = find(session, run(venv / "bin/python", "-c", WAIT).pid)
    relative = find(session, run("bin/python", "-c", WAIT, cwd=venv).pid)
    by_path = find(session, run("python", "-c", WAIT, env={"PATH": f"{venv}/bin"}).pid)
    script = venv / "bin/tool"
    script.write_text(f"#!{venv}/bin/python\n{WAIT}\n")
    script.chmod(0o755)
    by_script = find(session, run(script).pid)
    for found in (absolute, relative, by_path, by_script):
        assert found is not None
        assert found.prefix == str(venv)
        assert found.launched_as is not None
        assert found.launched_as.startswith(f"{venv}/")
    base = find(session, run(python, "-c", WAIT).pid)
    assert base is not None
    assert base.prefix == str(python.parent.parent)


def test_an_erased_command_line_is_unknown(session: AgentSession, run: Run, copied: Path) -> None:
    """As setproctitle does it: over the memory of arguments and environment."""
    erase = """
import ctypes, re
start, end = [int(word, 16) for word in re.search(
    r"([0-9a-f]+)-([0-9a-f]+) rw-p .*\\[stack\\]", open("/proc/self/maps").read()).groups()]
fields = open("/proc/self/stat").read().rpartition(")")[2].split()
first, last, env_first, env_last = [int(fields[place]) for place in (45, 46, 47, 48)]
ctypes.memset(first, 0, last - first)
ctypes.memset(env_first, 0, env_last - env_first)
ctypes.CDLL(None).prctl(15, b"VLLM::Worker", 0, 0, 0)
"""
    child = run(copied, "-c", f"{erase}\n{WAIT}", env={**os.environ, "PYTHONPATH": "/one"})
    found = find(session, child.pid)
    assert found is not None
    assert (found.python, found.name) == (True, "VLLM::Worker")
    assert (found.command, found.python_path, found.launched_as, found.prefix) == (None, None, None, None)


def test_a_rewritten_command_line_is_only_a_claim(
    session: AgentSession, run: Run, copied: Path, tmp_path: Path
) -> None:
    """argv[0] names another Python than the one that runs."""
    other = tmp_path / "bin/python3"
    other.parent.mkdir()
    other.write_text("")
    other.chmod(0o755)
    child = run("bash", "-c", f'exec -a {other} {copied} -c "{WAIT}"')
    found = find(session, child.pid)
    assert found is not None
    assert (found.python, found.executable) == (True, str(copied))
    assert (found.launched_as, found.prefix) == (None, None)


def test_an_interpreter_that_was_replaced_since(session: AgentSession, run: Run, copied: Path) -> None:
    """Its file is gone; the kernel says so behind the name."""
    child = run(copied, "-c", WAIT)
    copied.unlink()
    found = find(session, child.pid)
    assert found is not None
    assert (found.python, found.executable) == (True, str(copied))


def test_zombies_and_what_ends_meanwhile(session: AgentSession, python: Path) -> None:
    child = subprocess.Popen([str(python), "-c", "pass"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert find(session, child.pid) is None
    child.wait()


@pytest.mark.parametrize("ends", [True, False])
def test_what_ends_while_it_is_looked_at_is_not_unknown(
    monkeypatch: pytest.MonkeyPatch, python: Path, ends: bool
) -> None:
    """A Python that was found by ``PATH`` is told by its environment, which goes with it."""
    start = (
        "import subprocess, sys\n"
        "line = ['python3', '-c', 'print(0, flush=True); import time; time.sleep(60)']\n"
        "child = subprocess.Popen(line, executable=sys.executable, stdout=-1, text=True)\n"
        "child.stdout.readline()\n"
        "print(child.pid, flush=True)\n"
        "child.wait()\n"
    )
    parent = subprocess.Popen([python, "-c", start], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())

    def end() -> None:
        os.kill(pid, signal.SIGKILL)
        parent.wait()

    def gone(place: bytes) -> None:
        if ends and place == b"/proc/%d/" % pid:
            end()

    monkeypatch.setattr(processes, "_environment", gone)
    try:
        rows = processes.survey(Request({"ignore_pids": [], "root": None}), set())
        found = [row for row in rows or () if row["pid"] == pid]
        assert [row["prefix"] for row in found] == ([] if ends else [None])
    finally:
        if not ends:
            end()
        parent.stdout.close()


def test_odd_names(session: AgentSession, run: Run, python: Path) -> None:
    name = b"a) R (b\n\xff"
    code = f"import ctypes; ctypes.CDLL(None).prctl(15, {name!r}, 0, 0, 0); {WAIT}"
    found = find(session, run(python, "-c", code, os.fsdecode(b"\xff\xfe")).pid)
    assert found is not None
    assert os.fsencode(found.name) == name
    assert found.command is not None
    assert os.fsencode(found.command[-1]) == b"\xff\xfe"


@needs_root
def test_processes_of_others_are_unknown_rather_than_harmless(tmp_path: Path, run: Run, copied: Path) -> None:
    """Neither executable nor memory of another user's process can be seen."""
    named = run(copied, "-c", WAIT)
    titled = run("bash", "-c", f'exec -a "VLLM::EngineCore" {copied} -c "{WAIT}"')
    with connect_as_nobody(tmp_path) as session:
        found = find(session, named.pid)
        assert found is not None
        assert (found.python, found.executable) == (True, None)
        found = find(session, titled.pid)
        assert found is not None
        assert found.python is not False


@needs_root
def test_a_proc_that_hides_processes_is_not_taken_for_all(tmp_path: Path) -> None:
    """Mounted with hidepid, as on hardened hosts."""
    with connect_as_nobody(tmp_path, "mount -t proc -o hidepid=2 proc /proc") as session:
        assert session.processes(None, []) is None
    with connect_as_nobody(tmp_path) as session:
        assert session.processes(None, [])


@needs_root
def test_processes_that_may_not_be_looked_at_are_unknown(tmp_path: Path) -> None:
    with connect_as_nobody(tmp_path, "mount -t proc -o hidepid=1 proc /proc") as session:
        first = find(session, 1)
    assert first is not None
    assert (first.name, first.python, first.command) == ("unknown", None, None)
