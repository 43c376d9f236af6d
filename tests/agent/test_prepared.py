"""What is begun before it is asked for, because it was right the last time."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from overlaysync.agent import frames
from overlaysync.errors import AgentLostError, LockedError, TargetError
from overlaysync.model.seams import KnownFiles
from overlaysync.model.target import Interpreter, Inventory, Setting
from overlaysync.remote.bootstrap import bundle
from overlaysync.remote.connecting import connect
from overlaysync.remote.preparation import preparation
from overlaysync.remote.session import AgentSession
from overlaysync.targets.local import LocalTransport
from tests.agent.conftest import Start
from tests.agent.test_inspections import kept, settle
from tests.agent.test_inspector import Place, make_place
from tests.agent.test_interruption import applied, wait_until_gone
from tests.agent.vocabulary import METADATA, NAME, Site, is_running
from tests.parts.hooks import install_hook


class Nothing:
    """No file is known."""

    def fingerprints(self) -> dict[str, str]:
        return {}


Prepared = Callable[..., Place]


@pytest.fixture
def place(python: Path, tmp_path: Path, session: AgentSession) -> Place:
    return make_place(python, tmp_path, session)


def setting(place: Place) -> Setting:
    return Setting(working_directory=str(place.work))


@pytest.fixture
def prepared(place: Place, start: Start) -> Prepared:
    """Another agent, which was told what will be asked of it."""

    def tell(root: Path = place.site.root, python: Path = place.python) -> Place:
        first = preparation_for(place, root, python)
        return Place(place.prefix, place.site, place.work, start(first=first))

    return tell


def preparation_for(place: Place, root: Path, python: Path) -> bytes:
    nothing: KnownFiles = Nothing()  # type: ignore[assignment]
    there = setting(place)
    return preparation([str(python)], there, str(root), METADATA, NAME, nothing)


def survey(place: Place, setting: Setting) -> Interpreter:
    python = str(place.python)
    [found] = place.session.interpreters(NAME, setting, interpreter=python, hints=[])
    assert (found.error, len(found.distributions)) == (None, 1)
    return found


def open_root(session: AgentSession, root: Path) -> Inventory:
    return session.open(str(root), METADATA, NAME, "sha1")


def begun(place: Place) -> int:
    """The interpreter that was begun."""
    deadline = time.monotonic() + 20
    while not (found := kept(place)) and time.monotonic() < deadline:
        time.sleep(0.01)
    [pid] = found
    return pid


# The interpreter


def test_the_one_that_was_begun_answers(place: Place, prepared: Prepared) -> None:
    settle()
    there = prepared()
    pid = begun(there)
    assert survey(there, setting(place)) == survey(place, setting(place))
    assert kept(there) == [pid]


@pytest.mark.parametrize("other", [{"working_directory": "/"}, {"environment": {"LANG": "C.of-another"}}])
def test_one_of_another_setting_is_none(place: Place, prepared: Prepared, other: dict[str, object]) -> None:
    settle()
    there = prepared()
    pid = begun(there)
    survey(there, Setting(**{"working_directory": str(place.work), **other}))  # type: ignore[arg-type]
    assert pid not in kept(there)
    assert not is_running(pid)


def test_a_program_that_took_its_place_is_started(place: Place, prepared: Prepared) -> None:
    settle()
    there = prepared()
    pid = begun(there)
    link = place.python.readlink()
    place.python.unlink()
    place.python.symlink_to(link)
    survey(there, setting(place))
    assert pid not in kept(there)


def test_one_that_waits_is_asked_again(place: Place, prepared: Prepared) -> None:
    settle()
    there = prepared()
    first = survey(there, setting(place))
    [pid] = kept(there)
    there.session.prepare(preparation_for(place, place.site.root, place.python))
    assert survey(there, setting(place)) == first
    assert kept(there) == [pid]


def test_one_that_is_not_there_does_no_harm(place: Place, prepared: Prepared) -> None:
    there = prepared(python=place.prefix / "absent")
    survey(there, setting(place))


def test_nothing_is_left_of_one_that_nobody_asks(place: Place, prepared: Prepared) -> None:
    there = prepared()
    pid = begun(there)
    there.session.close()
    assert not is_running(pid)


def test_a_preparation_that_makes_no_sense_does_no_harm(place: Place) -> None:
    nonsense = {"do": "prepare", "interpreters": [], "user": "", "environment": {}, "opening": {"root": 7}}
    for request in ({"do": "prepare"}, nonsense):
        place.session.prepare(frames.encode(request))
    survey(place, setting(place))
    assert open_root(place.session, place.site.root).root == str(place.site.root)


def running(session: AgentSession, name: str) -> list[int]:
    found = session.processes(None, [])
    assert found is not None
    return [process.pid for process in found if name in (process.launched_as or "")]


def test_what_a_start_up_hook_leaves_running_is_no_workload(
    place: Place, prepared: Prepared, python: Path, tmp_path: Path
) -> None:
    """It ends with the interpreter that was begun; one that somebody else started is one."""
    other = tmp_path / "other" / "bin" / "python3"
    other.parent.mkdir(parents=True)
    other.symlink_to(python.resolve())
    code = f"import subprocess; subprocess.Popen([{str(other)!r}, '-c', 'import time; time.sleep(600)'])"
    install_hook(place.site.root, code)
    there = prepared()
    begun(there)
    deadline = time.monotonic() + 20
    while not (left := running(place.session, str(other))) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert left  # for another run it is no less a Python than any other
    assert running(there.session, str(other)) == []
    with subprocess.Popen([other, "-c", "import time; time.sleep(600)"]) as workload:
        try:
            assert running(there.session, str(other)) == [workload.pid]
        finally:
            workload.kill()
    survey(there, setting(place))
    wait_until_gone(left[0])


OPENING = "self._ahead = (request, self._open(request, ahead=True))"
TIDYING = "self._ahead.clear()"


def with_bugs(**lines: str) -> bytes:
    """The agent's modules, as source alone; each one that is named has a bug in place of a line of it."""
    content = bundle()[8:]
    head, _, rest = content.partition(b"\n")
    sizes, sent = [], b""
    for name, source, code in json.loads(head)[1]:
        text, rest = rest[:source].decode(), rest[source + code :]
        if (line := lines.get(name.rpartition(".")[2])) is not None:
            assert text.count(line) == 1
            text = text.replace(line, f"raise RuntimeError('a bug in {line}')")
        sizes.append((name, len(text.encode()), 0))
        sent += text.encode()
    content = json.dumps(["no Python", sizes]).encode() + b"\n" + sent
    return b"%08x" % len(content) + content


def start_with(place: Place, agent: bytes) -> Place:
    first = agent + preparation_for(place, place.site.root, place.python)
    transport = LocalTransport(str(place.prefix), interpreter=str(place.python))
    return Place(place.prefix, place.site, place.work, connect(transport, first))


def test_a_bug_in_it_is_no_wrong_answer(place: Place) -> None:
    expected = survey(place, setting(place))
    agent = with_bugs(install_root=OPENING)
    with start_with(place, agent).session as session:
        there = Place(place.prefix, place.site, place.work, session)
        assert survey(there, setting(place)) == expected
        ahead = open_root(session, place.site.root)
    assert open_root(place.session, place.site.root) == ahead


def test_a_bug_in_what_tidies_up_after_it_is_told_at_once(place: Place) -> None:
    with start_with(place, with_bugs(install_root=OPENING, inspections=TIDYING)).session as session:
        began = time.monotonic()
        with pytest.raises(AgentLostError, match=f"RuntimeError: a bug in {re.escape(TIDYING)}"):
            session.processes(None, [])
        assert time.monotonic() - began < 20
    open_root(place.session, place.site.root)  # nobody holds the lock


def test_no_room_for_it_is_no_wrong_answer(place: Place) -> None:
    """No file can be opened meanwhile."""
    pid = place.session.hello.pid
    expected, before = survey(place, setting(place)), resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
    place.session.prepare(preparation_for(place, place.site.root, place.python))
    with pytest.raises(TargetError, match="Too many open files"):
        survey(place, setting(place))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    assert survey(place, setting(place)) == expected
    assert open_root(place.session, place.site.root).root == str(place.site.root)


# The install root


def test_it_is_what_it_would_be_later(place: Place, prepared: Prepared) -> None:
    there = prepared()
    survey(there, setting(place))
    with pytest.raises(LockedError):
        open_root(place.session, place.site.root)
    ahead = open_root(there.session, place.site.root)
    there.session.release()
    assert open_root(place.session, place.site.root) == ahead


def test_it_is_told_once(place: Place, prepared: Prepared) -> None:
    there = prepared()
    first = open_root(there.session, place.site.root)
    place.site.write("sample/engine.py", "another = 1\n")
    second = open_root(there.session, place.site.root)
    assert {file.path for file in set(second.files) - set(first.files)} == {"sample/engine.py"}


def test_another_root_is_asked_for(place: Place, prepared: Prepared, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    Site(wrong).install({"sample/__init__.py": ""})
    found = open_root(prepared(root=wrong).session, place.site.root)
    assert found.root == str(place.site.root)
    assert len(found.files) > len(open_root(place.session, wrong).files)


def test_trouble_is_told_when_it_is_asked_for(place: Place, prepared: Prepared, tmp_path: Path) -> None:
    there = prepared(root=tmp_path / "absent")
    with pytest.raises(TargetError, match="absent"):
        open_root(there.session, tmp_path / "absent")
    open_root(place.session, place.site.root)
    there = prepared()
    with pytest.raises(LockedError):
        open_root(there.session, place.site.root)
    place.session.release()
    assert open_root(there.session, place.site.root).root == str(place.site.root)


def test_what_was_interrupted_is_left_for_who_asks(place: Place, prepared: Prepared) -> None:
    """A root that is only guessed is not written to; and what was done there must be told."""
    before = place.site.snapshot()
    open_root(place.session, place.site.root)
    applied(place.site, place.session)
    os.kill(place.session.hello.pid, signal.SIGKILL)
    wait_until_gone(place.session.hello.pid)
    interrupted = place.site.snapshot()
    assert interrupted != before
    there = prepared()
    survey(there, setting(place))
    assert place.site.snapshot() == interrupted
    assert "rolled back" in (open_root(there.session, place.site.root).recovered or "")
    assert place.site.snapshot() == before
