"""An interpreter that is as if it were started anew is asked again; any other answers once."""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

from overlaysync.agent.template import KNOWN_LINES, KNOWN_MODULES, RACY
from overlaysync.model.target import Setting
from overlaysync.remote.session import AgentSession
from tests.agent.test_inspector import Place, make_place
from tests.agent.vocabulary import is_running
from tests.parts.hooks import install_hook


@pytest.fixture
def place(python: Path, tmp_path: Path, session: AgentSession) -> Place:
    return make_place(python, tmp_path, session)


def settle() -> None:
    time.sleep(RACY + 0.2)  # the time of status change cannot be set


def kept(place: Place) -> list[int]:
    """The interpreters that wait for another question: what the agent started and is still there."""
    agent = place.session.hello.pid
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, parent = (directory / "stat").read_text().rpartition(")")[2].split()[:2]
            if int(parent) == agent and state != "Z":
                found.append(int(directory.name))
    return found


def origin(place: Place, module: str) -> str | None:
    [answer] = place.resolve(module)
    return answer.origin


def test_one_process_answers_all(place: Place) -> None:
    settle()
    first = place.survey()
    [pid] = kept(place)
    assert origin(place, "sample.engine") == f"{place.site.root}/sample/engine.py"
    place.site.write("sample/fresh.py", "FRESH = 1\n")
    assert origin(place, "sample.fresh") == f"{place.site.root}/sample/fresh.py"
    (place.site.root / "sample/fresh.py").unlink()
    assert origin(place, "sample.fresh") is None
    assert place.survey() == first
    assert kept(place) == [pid]
    place.session.close()
    assert not is_running(pid)


def test_another_setting_is_another_process(place: Place) -> None:
    settle()
    place.survey()
    place.survey(LANG="C")
    assert len(kept(place)) == 2


def test_what_was_touched_just_now_may_change_unseen(place: Place) -> None:
    place.survey()
    assert kept(place) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [("new.pth", "{elsewhere}\n"), ("old.pth", "{elsewhere}\n"), ("../../../pyvenv.cfg", None)],
)
def test_what_a_start_reads_has_changed(place: Place, tmp_path: Path, name: str, text: str | None) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place.site.write("old.pth", "/nowhere\n")
    settle()
    assert str(elsewhere) not in place.survey().search_path
    [pid] = kept(place)
    path = place.site.root / name
    path.write_text(path.read_text() if text is None else text.format(elsewhere=str(elsewhere)))
    found = place.survey()
    assert (str(elsewhere) in found.search_path) is (text is not None)
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
HOOKS = {
    "runs code, which may read anything": "",
    "leaves a process": "import subprocess; subprocess.Popen(['sleep', '600'])\n",
    "adds a finder": FINDER,
    "holds a socket": "import socket; kept = socket.socket()\n",
    "starts a thread": THREAD,
}


@pytest.mark.parametrize("code", HOOKS.values(), ids=HOOKS)
def test_where_code_of_others_runs_at_the_start_each_question_has_its_own(place: Place, code: str) -> None:
    install_hook(place.site.root, code)
    settle()
    for _ in range(2):
        assert origin(place, "sample.engine") == f"{place.site.root}/sample/engine.py"
        assert kept(place) == []


def test_what_a_hook_reads_from_a_file_of_its_own(place: Place, tmp_path: Path) -> None:
    """No look at modules and directories tells that the next start will be another."""
    paths = tmp_path / "paths.txt"
    paths.write_text("/nowhere")
    install_hook(place.site.root, f"import sys; sys.path.insert(0, open({str(paths)!r}).read())")
    settle()
    assert origin(place, "extra") is None
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "extra.py").write_text("")
    paths.write_text(f"{tmp_path}/elsewhere")
    assert origin(place, "extra") == f"{tmp_path}/elsewhere/extra.py"


def source_of(module: str) -> str:
    """A known hook's module, from this environment; skips where it has none, or one of another version."""
    places = {
        "_distutils_hack": "_distutils_hack",
        "_virtualenv": "virtualenv.create.via_global_ref._virtualenv",
    }
    try:
        spec = find_spec(places[module])
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.origin is None:
        pytest.skip(f"this environment has no {module}")
    text = Path(spec.origin).read_text()
    if hashlib.sha256(text.encode()).hexdigest() not in KNOWN_MODULES[module]:
        pytest.skip("of a version that is not known")
    return text


@pytest.mark.parametrize(("line", "name"), KNOWN_LINES.items(), ids=KNOWN_LINES.values())
def test_hooks_that_are_known_to_read_nothing(place: Place, line: bytes, name: str) -> None:
    place.site.write(f"{name}.py", source_of(name))
    place.site.write(f"{name}.pth", line + b"\n")
    settle()
    for _ in range(2):
        assert origin(place, "sample.engine") == f"{place.site.root}/sample/engine.py"
        assert len(kept(place)) == 1


@pytest.mark.parametrize(("line", "name"), KNOWN_LINES.items(), ids=KNOWN_LINES.values())
@pytest.mark.parametrize(
    "text", ["def add_shim(): pass\n", "raise OSError\n", None], ids=["other", "fails", "none"]
)
def test_others_of_the_same_name_are_not_known(
    place: Place, line: bytes, name: str, text: str | None
) -> None:
    if text is not None:
        place.site.write(f"{name}.py", text)
    place.site.write(f"{name}.pth", line + b"\n")
    settle()
    place.survey()
    assert kept(place) == []


READS = "import sys; sys.path[:0] = open({paths!r}).read().split()"
STARTS = {
    "a customising module that fails": ("custom/sitecustomize.py", READS, {}),
    "one that hides": ("custom/sitecustomize.py", "import sys; del sys.modules['sitecustomize']", {}),
    "a category of warnings": (
        "custom/mine.py",
        "class W(Warning): pass\n",
        {"PYTHONWARNINGS": "ignore::mine.W"},
    ),
    "another site": ("custom/site.py", "def getsitepackages(): return []\nUSER_SITE = None\n", {}),
    "after a byte order mark": ("x.pth", "\ufeffimport os\n", {}),
    "after another line end": ("x.pth", "/nowhere\fimport os\n", {}),
    "after a megabyte": ("x.pth", "# \n" * (1 << 19) + "import os\n", {}),
}
"""What runs at a start, or may in some version of Python."""


@pytest.mark.parametrize(("name", "text", "variables"), STARTS.values(), ids=STARTS)
def test_code_that_runs_unseen(
    place: Place, tmp_path: Path, name: str, text: str, variables: dict[str, str]
) -> None:
    place.site.write(name, text.format(paths=str(tmp_path / "absent")) if "{" in text else text)
    settle()
    plain = place.survey()
    if name.endswith("/site.py") and tuple(map(int, plain.version.split("."))) >= (3, 11):
        pytest.skip("its site is frozen, so that no other one is loaded")
    before = kept(place)
    paths = {"PYTHONPATH": f"{place.site.root}/custom"} if name.startswith("custom/") else {}
    place.session.interpreters(
        "sample", place.setting(**paths, **variables), interpreter=str(place.python), hints=[]
    )
    assert kept(place) == before


@pytest.mark.parametrize("line", ["imports/extra", "nowhere/../imports/extra"])
def test_what_a_line_names_comes_later(place: Place, line: str) -> None:
    place.site.write("x.pth", f"{line}\n")
    (place.site.root / "imports").mkdir()
    settle()
    assert origin(place, "late") is None
    place.site.write("imports/extra/late.py", "")
    assert origin(place, "late") == f"{place.site.root}/imports/extra/late.py"


def test_no_room_for_a_child(place: Place) -> None:
    """One process may be started, and no more: it answers itself."""
    if os.geteuid() != 0:
        pytest.skip("limits of another user are set by root alone")
    setting = Setting(user="nobody", environment={}, working_directory="/")
    resource.prlimit(place.session.hello.pid, resource.RLIMIT_NPROC, (1, 1))
    [answer], _ = place.session.read_back("/usr/bin/python3", setting, ["json"], [], patience=20.0)
    assert (answer.error, answer.origin is not None) == (None, True)


def test_a_customising_module_may_read_anything(place: Place) -> None:
    place.site.write("custom/sitecustomize.py", "")
    settle()
    place.survey(PYTHONPATH=f"{place.site.root}/custom")
    assert kept(place) == []
    place.survey(PYTHONPATH=f"{place.site.root}/sample")
    assert len(kept(place)) == 1


DEBIANS = """# install the apport exception handler if available
try:
    import apport_python_hook
except ImportError:
    pass
else:
    apport_python_hook.install()
"""


def test_the_customising_module_of_debian_reads_nothing(place: Place) -> None:
    place.site.write("custom/sitecustomize.py", DEBIANS)
    settle()
    for expected in (1, 1):
        place.survey(PYTHONPATH=f"{place.site.root}/custom")
        assert len(kept(place)) == expected
    place.site.write("custom/apport_python_hook.py", "def install(): pass\n")
    settle()
    place.survey(PYTHONPATH=f"{place.site.root}/custom")
    assert kept(place) == []


def test_a_module_that_raises_when_it_is_looked_at(place: Place) -> None:
    code = """
import sys, types
class Odd(types.ModuleType):
    def __getattribute__(self, name):
        raise RuntimeError(name)
sys.modules["odd"] = Odd("odd")
"""
    install_hook(place.site.root, code)
    settle()
    assert origin(place, "sample.engine") == f"{place.site.root}/sample/engine.py"
    assert kept(place) == []


def test_what_a_child_finds_leaves_no_trace(place: Place) -> None:
    """A finder keeps what a directory held; a question that comes next must not be told of that."""
    settle()
    assert origin(place, "sample.fresh") is None
    directory = place.site.root / "sample"
    status = directory.stat()
    place.site.write("sample/fresh.py", "")
    os.utime(directory, ns=(status.st_atime_ns, status.st_mtime_ns))  # by which finders know a change
    assert origin(place, "sample.fresh") == f"{directory}/fresh.py"
    assert len(kept(place)) == 1


def test_one_that_was_killed_is_started_again(place: Place) -> None:
    settle()
    place.survey()
    [pid] = kept(place)
    os.kill(pid, signal.SIGKILL)
    assert place.survey().error is None
    assert kept(place) != [pid]


def test_one_that_is_killed_meanwhile_has_not_answered(place: Place) -> None:
    settle()
    place.survey()
    [pid] = kept(place)
    with ThreadPoolExecutor() as pool:
        os.kill(pid, signal.SIGSTOP)
        asked = pool.submit(place.resolve, "sample.engine")
        time.sleep(0.3)
        os.kill(pid, signal.SIGKILL)
        [answer] = asked.result()
    assert answer.origin == f"{place.site.root}/sample/engine.py"
    assert pid not in kept(place)


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


def test_a_program_that_starts_the_interpreter(place: Place, tmp_path: Path) -> None:
    """A wrapper may start another one the next time."""
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\nexec {place.python} "$@"\n')
    wrapper.chmod(0o755)
    settle()
    for _ in range(2):
        found = place.session.interpreters("sample", place.setting(), interpreter=str(wrapper), hints=[])
        assert found[0].error is None
        assert kept(place) == []
