"""An install root that is opened while the interpreters start, because it was the right one before."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from overlaysync.errors import LockedError, TargetError
from overlaysync.model.target import Inventory
from overlaysync.remote.session import AgentSession, opening
from tests.agent.conftest import Start
from tests.agent.test_inspector import Place, make_place
from tests.agent.test_interruption import applied, wait_until_gone
from tests.agent.vocabulary import METADATA, NAME, Site


@pytest.fixture
def place(python: Path, tmp_path: Path, session: AgentSession) -> Place:
    return make_place(python, tmp_path, session)


def ask(place: Place, root: Path) -> None:
    ahead = opening(str(root), METADATA, NAME, None, ())
    python = str(place.python)
    [found] = place.session.interpreters("sample", place.setting(), interpreter=python, hints=[], ahead=ahead)
    assert (found.error, len(found.distributions)) == (None, 1)


def open_root(session: AgentSession, root: Path) -> Inventory:
    return session.open(str(root), METADATA, NAME, "sha1")


def test_it_is_what_it_would_be_later(place: Place, start: Start) -> None:
    ask(place, place.site.root)
    other = start()
    with pytest.raises(LockedError):
        open_root(other, place.site.root)
    ahead = open_root(place.session, place.site.root)
    place.session.release()
    assert open_root(other, place.site.root) == ahead


def test_it_is_told_once(place: Place) -> None:
    ask(place, place.site.root)
    first = open_root(place.session, place.site.root)
    place.site.write("sample/engine.py", "another = 1\n")
    second = open_root(place.session, place.site.root)
    assert {file.path for file in set(second.files) - set(first.files)} == {"sample/engine.py"}


def test_another_root_is_asked_for(place: Place, tmp_path: Path, start: Start) -> None:
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    Site(wrong).install({"sample/__init__.py": ""})
    ask(place, wrong)
    found = open_root(place.session, place.site.root)
    assert found.root == str(place.site.root)
    assert len(found.files) > len(open_root(start(), wrong).files)


def test_trouble_is_told_when_it_is_asked_for(place: Place, tmp_path: Path, start: Start) -> None:
    ask(place, tmp_path / "absent")
    with pytest.raises(TargetError, match="absent"):
        open_root(place.session, tmp_path / "absent")
    other = start()
    open_root(other, place.site.root)
    ask(place, place.site.root)
    with pytest.raises(LockedError):
        open_root(place.session, place.site.root)
    other.release()
    assert open_root(place.session, place.site.root).root == str(place.site.root)


def test_what_was_interrupted_is_left_for_who_asks(place: Place, start: Start) -> None:
    """A root that is only guessed is not written to; and what was done there must be told."""
    before = place.site.snapshot()
    other = start()
    open_root(other, place.site.root)
    applied(place.site, other)
    os.kill(other.hello.pid, signal.SIGKILL)
    wait_until_gone(other.hello.pid)
    interrupted = place.site.snapshot()
    assert interrupted != before
    ask(place, place.site.root)
    assert place.site.snapshot() == interrupted
    assert "rolled back" in (open_root(place.session, place.site.root).recovered or "")
    assert place.site.snapshot() == before
