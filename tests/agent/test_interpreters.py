"""Which Pythons are asked, as whom, and for how long."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from overlaysync.errors import TargetError
from overlaysync.model.target import Interpreter, Setting
from overlaysync.remote.session import AgentSession
from tests.agent.conftest import old_interpreter, supported
from tests.agent.nobody import NOBODY, SYSTEM_PYTHON, needs_root, open_for_all
from tests.agent.vocabulary import Site, is_running


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def ask(
    session: AgentSession,
    setting: Setting,
    *,
    interpreter: Path | None = None,
    hints: tuple[str, ...] = (),
    patience: float = 20.0,
) -> dict[str, Interpreter]:
    """Answers by the path of the interpreter."""
    named = str(interpreter) if interpreter is not None else None
    found = session.interpreters("sample", setting, interpreter=named, hints=hints, patience=patience)
    return {row.path: row for row in found}


def test_pythons_are_found_on_the_path_and_in_usual_places(session: AgentSession, tmp_path: Path) -> None:
    own, *others = supported().values()
    another = others[-1] if others else own
    for name in ("python3", "python", "python3.99", "python3-config", "pythonish"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).symlink_to(another)
    found = ask(session, Setting(environment={"PATH": f"{tmp_path}/bin:relative"}))
    expected = {f"{tmp_path}/bin/python"} if others else set()  # the agent's own is asked as such
    assert {path for path in found if path.startswith(str(tmp_path))} == expected


def test_a_virtual_environment_is_another_interpreter(
    session: AgentSession, python: Path, tmp_path: Path
) -> None:
    venv = tmp_path / "work/.venv"
    subprocess.run([str(python), "-m", "venv", "--without-pip", str(venv)], check=True, timeout=60)
    setting = Setting(environment={"PATH": str(python.parent)}, working_directory=str(tmp_path / "work"))
    prefixes = {row.prefix for row in ask(session, setting).values()}
    assert {str(venv), str(python.parent.parent)} <= prefixes
    setting = Setting(environment={"PATH": "/nowhere", "VIRTUAL_ENV": str(venv)})
    assert str(venv) in {row.prefix for row in ask(session, setting).values()}


def test_what_is_not_named_like_a_python_is_never_started(session: AgentSession, tmp_path: Path) -> None:
    """The container's entry point is a hint too."""
    marker = tmp_path / "started"
    entry = program(tmp_path / "entrypoint.sh", f"#!/bin/sh\ntouch {marker}\n")
    hint = program(tmp_path / "hinted" / "python3", f"#!/bin/sh\ntouch {marker}-hinted\n")
    found = ask(session, Setting(), hints=(str(entry), str(hint), "", "relative"))
    assert str(entry) not in found
    assert not marker.exists()
    assert str(hint) in found
    assert (tmp_path / "started-hinted").exists()


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7"])
def test_an_old_interpreter_is_told_as_such(session: AgentSession, version: str) -> None:
    found = old_interpreter(version)
    (row,) = ask(session, Setting(), interpreter=found).values()
    assert row.error == f"exit code 1: Python {version} is older than 3.8"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("#!/bin/sh\nexit 5\n", "exit code 5: no answer"),
        ("#!/bin/sh\necho 'it is broken' >&2\nexit 1\n", "exit code 1: it is broken"),
        ("#!/no/such/program\n", "not started in / as uid"),
        ("no program\n", "not started in / as uid"),
        ("#!/usr/bin/python3 -I\nimport os, sys\nos.write(int(sys.argv[-1]), b'[1]\\n')\n", "no answer"),
        ("#!/usr/bin/python3 -I\nimport os, sys\nos.write(int(sys.argv[-1]), b'[' * 9999 + b'\\n')\n", "no "),
        (
            "#!/usr/bin/python3 -I\nimport os, sys\nwhile True: os.write(int(sys.argv[-1]), b'x' * 65536)\n",
            "exit code -9: no answer",
        ),
    ],
)
def test_a_program_that_is_no_python(
    session: AgentSession, tmp_path: Path, python: Path, text: str, told: str
) -> None:
    broken = program(tmp_path / "python3", text.replace("/usr/bin/python3", str(python)))
    (row,) = ask(session, Setting(), interpreter=broken).values()
    assert row.error is not None
    assert told in row.error


def test_an_environment_whose_python_is_broken_is_suspected(session: AgentSession, tmp_path: Path) -> None:
    """It may be the workload's, and what it would import is not known."""
    for name, metadata in (("one", "Sample-1.0"), ("two", "sample_more-1.0"), ("three", "SAMPLE-2.0rc1")):
        python = program(tmp_path / name / "bin/python3", "#!/bin/sh\nexit 1\n")
        (tmp_path / name / f"lib/python3.99/site-packages/{metadata}.dist-info").mkdir(parents=True)
        (row,) = ask(session, Setting(), interpreter=python).values()
        assert (row.error, row.suspected is not None) == ("exit code 1: no answer", name != "two")


def test_an_absent_interpreter_and_an_absent_directory(
    session: AgentSession, python: Path, tmp_path: Path
) -> None:
    (row,) = ask(session, Setting(), interpreter=tmp_path / "absent").values()
    assert "No such file" in str(row.error)
    (row,) = ask(session, Setting(working_directory=str(tmp_path / "absent")), interpreter=python).values()
    assert str(row.error).startswith(f"not started in {tmp_path}/absent as uid {os.geteuid()}: ")
    (row,) = ask(session, Setting(), interpreter=python).values()
    assert row.error is None


def test_interpreters_that_hang_are_given_up_together(session: AgentSession, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        program(tmp_path / name / "python3", "#!/bin/sh\nsleep 600 & echo $! >> $0.pids\nwait\n")
    path = ":".join(str(tmp_path / name) for name in ("one", "two", "three"))
    started = time.monotonic()
    found = ask(session, Setting(environment={"PATH": f"{path}:/usr/bin:/bin"}), patience=2.0)
    assert time.monotonic() - started < 8.0
    hung = {row.error for where, row in found.items() if where.startswith(str(tmp_path))}
    assert hung == {"no answer in time"}
    for pids in tmp_path.glob("*/python3.pids"):
        for pid in pids.read_text().split():
            assert not is_running(int(pid))


def test_a_long_question_to_an_interpreter_that_hangs(session: AgentSession, tmp_path: Path) -> None:
    """It never reads, and the pipe is smaller than the question."""
    hanging = program(tmp_path / "python3", "#!/bin/sh\nexec sleep 600\n")
    names = [f"sample.module{number}" for number in range(20_000)]
    started = time.monotonic()
    with pytest.raises(TargetError, match="no answer in time"):
        session.read_back(str(hanging), Setting(environment={"PATH": "/bin"}), names, [], patience=1.0)
    assert time.monotonic() - started < 10.0


def test_a_long_question_is_answered(session: AgentSession, python: Path) -> None:
    names = [f"sample.module{number}" for number in range(20_000)]
    answers, _ = session.read_back(str(python), Setting(), names, [])
    assert [row.module for row in answers] == names


@needs_root
def test_a_python_of_somebody_else_is_not_run_unless_it_is_named(
    session: AgentSession, tmp_path: Path, python: Path
) -> None:
    """What a user of the container put on the path would run with the workload's rights."""
    marker = tmp_path / "started"
    theirs = program(tmp_path / "theirs" / "python3", f'#!/bin/sh\ntouch {marker}\nexec {python} "$@"\n')
    os.chown(theirs, NOBODY, NOBODY)
    setting = Setting(environment={"PATH": f"{theirs.parent}:/usr/bin:/bin"})
    row = ask(session, setting)[str(theirs)]
    assert row.error == f"belongs to uid {NOBODY}, so it is not run as uid 0 unless it is named"
    assert not marker.exists()
    (row,) = ask(session, setting, interpreter=theirs).values()
    assert row.error is None
    assert marker.exists()


@needs_root
def test_a_virtual_environment_of_somebody_else_is_not_run(
    session: AgentSession, tmp_path: Path, python: Path
) -> None:
    """The program is root's, but what it loads at start-up is not."""
    venv = tmp_path / "venv"
    subprocess.run([str(python), "-m", "venv", "--without-pip", str(venv)], check=True, timeout=60)
    os.chown(venv, NOBODY, NOBODY)
    found = ask(session, Setting(environment={"PATH": f"{venv}/bin"}))
    assert "belongs to uid" in str(found[f"{venv}/bin/python"].error)


@needs_root
def test_the_workloads_user(tmp_path: Path, session: AgentSession) -> None:
    """D02, D17: what is there may still be unreadable for those who need it."""
    if not SYSTEM_PYTHON.exists():
        pytest.skip("nobody may use no Python but the system's")
    open_for_all(tmp_path)
    site = Site(tmp_path / "site").install()
    (site.root / "sample/data.json").chmod(0o600)
    (site.root / "sample/engine.py").chmod(0o600)
    files = [str(site.root / "sample/data.json"), str(site.root / "sample/__init__.py")]
    for user in ("nobody", str(NOBODY), f"{NOBODY}:{NOBODY}", "nobody:nogroup"):
        setting = Setting(user=user, environment={"PATH": "/usr/bin", "PYTHONPATH": str(site.root)})
        answers, unreadable = session.read_back(str(SYSTEM_PYTHON), setting, ["sample.engine"], files)
        assert unreadable == [(files[0], "Permission denied")]
        assert "Permission" in str(answers[0].error)
        assert (
            session.interpreters("sample", setting, interpreter="/usr/bin/python3", hints=[])[0].uid == NOBODY
        )


@needs_root
@pytest.mark.parametrize(
    ("user", "told"),
    [("no-such-user", "no user named 'no-such-user'"), ("0:no-such-group", "no group named 'no-such-group'")],
)
def test_users_that_are_not_there(session: AgentSession, python: Path, user: str, told: str) -> None:
    with pytest.raises(TargetError, match=told):
        session.interpreters("sample", Setting(user=user), interpreter=str(python), hints=[])


def test_the_environment_is_the_workloads(session: AgentSession, python: Path, tmp_path: Path) -> None:
    site = Site(tmp_path / "caf\xe9").install()
    setting = Setting(
        environment={"PATH": "/bin", "PYTHONPATH": str(site.root), "ODD": "\udcff", "EMPTY": ""}
    )
    (row,) = ask(session, setting, interpreter=python).values()
    assert [copy.root for copy in row.distributions] == [str(site.root)]
