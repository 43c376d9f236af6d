"""An interpreter that would be started anew as it is, is asked again; any other answers once."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from overlaysync.agent.inspector import RACY
from overlaysync.remote.session import AgentSession
from tests.agent.test_inspector import Place, make_place
from tests.agent.vocabulary import is_running
from tests.parts.hooks import MODULE, install_hook

COUNT = """
import os
with open({started!r}, "a") as stream:
    stream.write("%d\\n" % os.getpid())
"""
"""A start-up hook that notes each start of the interpreter."""


@pytest.fixture
def started(tmp_path: Path) -> Path:
    return tmp_path / "started"


@pytest.fixture
def place(python: Path, tmp_path: Path, session: AgentSession, started: Path) -> Place:
    place = make_place(python, tmp_path, session)
    install_hook(place.site.root, COUNT.format(started=str(started)))
    return place


def settle() -> None:
    time.sleep(RACY + 0.2)  # the time of status change cannot be set


def starts(started: Path) -> list[int]:
    return [int(line) for line in started.read_text().splitlines()]


def origin(place: Place, module: str) -> str | None:
    """What an interpreter that may have been asked before says."""
    path, setting = str(place.python), place.setting()
    [answer], _ = place.session.read_back(path, setting, [module], [], fresh=False, patience=20.0)
    return answer.origin


def test_one_process_answers_all(place: Place, started: Path) -> None:
    settle()
    first = place.survey()
    assert origin(place, "sample.engine") == f"{place.site.root}/sample/engine.py"
    place.site.write("sample/fresh.py", "FRESH = 1\n")
    assert origin(place, "sample.fresh") == f"{place.site.root}/sample/fresh.py"
    (place.site.root / "sample/fresh.py").unlink()
    assert origin(place, "sample.fresh") is None
    assert place.survey() == first
    [pid] = starts(started)
    assert is_running(pid)
    place.session.close()
    assert not is_running(pid)


def test_a_proof_is_a_new_ones(place: Place, started: Path) -> None:
    settle()
    place.survey()
    for _ in range(2):
        place.resolve("sample.engine")
    origin(place, "sample.engine")
    first, *others = starts(started)
    assert len(others) == 2
    assert is_running(first)
    assert not any(map(is_running, others))


def test_another_setting_is_another_process(place: Place, started: Path) -> None:
    settle()
    place.survey()
    place.survey(LANG="C")
    assert len(starts(started)) == 2


def test_what_was_touched_just_now_may_change_unseen(place: Place, started: Path) -> None:
    place.survey()
    place.survey()
    assert len(starts(started)) == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("new.pth", "{elsewhere}\n"),
        ("old.pth", "{elsewhere}\n"),
        (f"{MODULE}.py", "import sys; sys.path.insert(0, {elsewhere!r})\n"),
        ("../../../pyvenv.cfg", None),
    ],
)
def test_what_a_start_reads_has_changed(
    place: Place, started: Path, tmp_path: Path, name: str, text: str | None
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place.site.write("old.pth", "/nowhere\n")
    settle()
    assert str(elsewhere) not in place.survey().search_path
    path = place.site.root / name
    path.write_text(path.read_text() if text is None else text.format(elsewhere=str(elsewhere)))
    found = place.survey()
    assert (str(elsewhere) in found.search_path) is (text is not None)
    [pid, *_] = starts(started)
    assert not is_running(pid)


FINDER = """
import sys
class Finder:
    find_spec = staticmethod(lambda *_: None)
sys.meta_path.insert(0, Finder)
"""


THREAD = """
import threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
"""
MORE = {
    "leaves a process": "import subprocess; subprocess.Popen(['sleep', '600'])\n",
    "adds a finder": FINDER,
    "holds a socket": "import socket; kept = socket.socket()\n",
    "starts a thread": THREAD,
}


@pytest.mark.parametrize("more", MORE.values(), ids=MORE)
def test_hooks_that_do_more_are_run_each_time(place: Place, started: Path, more: str) -> None:
    install_hook(place.site.root, COUNT.format(started=str(started)) + more)
    settle()
    for _ in range(2):
        place.survey()
    assert len(starts(started)) == 2


def test_one_that_was_killed_is_started_again(place: Place, started: Path) -> None:
    settle()
    place.survey()
    os.kill(starts(started)[0], signal.SIGKILL)
    assert place.survey().error is None
    assert len(starts(started)) == 2


def test_what_a_package_that_was_loaded_would_find(place: Place) -> None:
    install_hook(place.site.root, "import sample.engine")
    settle()
    assert origin(place, "sample.engine") == f"{place.site.root}/sample/engine.py"
    place.site.write("sample/engine/__init__.py", "")
    assert origin(place, "sample.engine") == f"{place.site.root}/sample/engine/__init__.py"


def test_a_directory_that_a_pth_file_names_comes_later(place: Place, tmp_path: Path) -> None:
    place.site.write("later.pth", f"{tmp_path}/later\n")
    settle()
    assert origin(place, "extra") is None
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "extra.py").write_text("")
    assert origin(place, "extra") == f"{tmp_path}/later/extra.py"


def test_the_working_directory_is_a_link(place: Place) -> None:
    for name in ("one", "two"):
        (place.work.parent / name).mkdir()
    (place.work.parent / "two" / "extra.py").write_text("")
    place.work.rmdir()
    place.work.symlink_to("one")
    settle()
    assert origin(place, "extra") is None
    place.work.unlink()
    place.work.symlink_to("two")
    assert origin(place, "extra") == f"{place.work.parent}/two/extra.py"


def test_a_program_that_starts_the_interpreter(place: Place, started: Path, tmp_path: Path) -> None:
    """A wrapper may start another one the next time."""
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\nexec {place.python} "$@"\n')
    wrapper.chmod(0o755)
    settle()
    for _ in range(2):
        found = place.session.interpreters("sample", place.setting(), interpreter=str(wrapper), hints=[])
        assert found[0].error is None
    assert len(starts(started)) == 2
