"""The first contact: which Python starts the agent, and what is said when none does."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from overlaysync.agent import frames
from overlaysync.errors import NoInterpreterError, TargetError
from overlaysync.remote.bootstrap import arguments, bundle
from overlaysync.remote.connecting import connect
from overlaysync.targets.local import LocalTransport
from tests.agent.conftest import old_interpreter, supported
from tests.agent.vocabulary import is_running
from tests.remote.programs import GREET, HELLO, ProgramTransport


@pytest.mark.parametrize("python", supported().values(), ids=supported().keys())
def test_every_supported_python(python: Path, tmp_path: Path) -> None:
    with connect(LocalTransport(str(tmp_path), interpreter=str(python))) as session:
        assert session.hello.protocol == frames.PROTOCOL
        assert session.hello.python.startswith(python.name.removeprefix("python"))
        assert session.read("/absent") is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7"])
def test_a_python_that_is_too_old(version: str, tmp_path: Path) -> None:
    python = old_interpreter(version)
    with pytest.raises(NoInterpreterError) as refused:
        connect(LocalTransport(str(tmp_path), interpreter=str(python)))
    assert refused.value.message == f"{python} is Python {version}; the agent needs 3.8 or newer"
    assert (refused.value.code, refused.value.exit_code) == ("python-too-old", 7)


class Several(LocalTransport):
    """Names several programs, as a container's does."""

    def __init__(self, prefix: Path, *programs: Path) -> None:
        super().__init__(str(prefix))
        self.programs = programs

    def interpreters(self) -> Sequence[str]:
        return [str(program) for program in self.programs]


def test_the_first_that_answers_is_taken(tmp_path: Path) -> None:
    broken = tmp_path / "python3"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    python = next(iter(supported().values()))
    with connect(Several(tmp_path, broken, old_interpreter("3.7"), python)) as session:
        assert session.hello.executable == str(python)


def test_too_old_is_worth_more_than_broken(tmp_path: Path) -> None:
    """What was tried last is not what matters."""
    broken = tmp_path / "python3"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    for programs in ((broken, old_interpreter("3.7")), (old_interpreter("3.7"), broken)):
        with pytest.raises(NoInterpreterError, match=r"is Python 3\.7; the agent needs 3\.8 or newer"):
            connect(Several(tmp_path, *programs))


def test_no_program_at_all(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="names no Python"):
        connect(Several(tmp_path))
    with pytest.raises(TargetError, match="cannot be started"):
        connect(Several(tmp_path, tmp_path / "absent"))


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("send(b'Welcome to the cluster!\\n')", "Welcome to the cluster!"),
        ("sys.stderr.write('a warning\\nthe reason\\n'); sys.exit(3)", "(exit code 3): the reason"),
        ("bundle()\nsys.exit(0)", "(exit code 0): it said nothing"),
        ("bundle()\nsend(frame({'protocol': 1}))", "protocol"),
        ("bundle()\nsend(frame([1]))", "does not run"),
        ("bundle()\nsend(b'OVS1' + b'\\xff' * 8)", "does not run"),
        (f"bundle()\nsend(frame({{**{HELLO!r}, 'protocol': 999}}))", "does not run"),
        (f"bundle()\nsend(frame({{**{HELLO!r}, 'pid': 'one'}}))", "does not run"),
        ("send(b'\\x1b]0;title\\x07\\xff\\n')", "does not run"),
    ],
)
def test_a_program_that_is_not_our_agent(tmp_path: Path, code: str, told: str) -> None:
    started = time.monotonic()
    with pytest.raises(NoInterpreterError) as refused:
        connect(ProgramTransport(tmp_path, code))
    assert told in refused.value.message
    assert time.monotonic() - started < 15.0


def test_a_program_that_says_nothing_but_reads(tmp_path: Path) -> None:
    """The control for the others: what greets as the agent does is the agent."""
    with connect(ProgramTransport(tmp_path, GREET + "receive()")) as session:
        assert session.hello.python == "3.8.0"


def test_an_interrupted_contact_leaves_no_process(tmp_path: Path) -> None:
    """Ctrl-C while the target is slow to greet: the process is told to end, and is waited for."""
    marker = tmp_path / "pid"
    code = f"bundle()\nopen({str(marker)!r}, 'w').write(str(os.getpid()))\nos.read(0, 1)"
    threading.Timer(1.5, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        connect(ProgramTransport(tmp_path, code))
    assert not is_running(int(marker.read_text()))


def test_a_module_of_the_working_directory_is_not_the_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "struct", "select", "overlaysync", "subprocess"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('executed')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    python = next(iter(supported().values()))
    with connect(LocalTransport(str(tmp_path), interpreter=str(python))) as session:
        assert session.processes(None, []) is not None


def test_the_agent_needs_nothing_but_the_standard_library() -> None:
    """What is shipped: our modules by name, none of the host's; and the command line is short."""
    content = bundle()
    length = int(content[:8], 16)
    assert len(content) == 8 + length < 600_000
    assert b"msgspec" not in content
    assert sum(map(len, arguments(900.0))) < 4_000
