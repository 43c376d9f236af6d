"""The two halves of the end of a transaction: its record is written, and only then gets its name."""

from __future__ import annotations

import json
import resource
import shutil

import pytest

from overlaysync.errors import AgentBugError, ApplyError, UnfinishedError
from overlaysync.model.target import InstalledPath
from overlaysync.remote.session import AgentSession
from tests.agent.conftest import Start
from tests.agent.test_interruption import EDITED, applied, edits
from tests.agent.vocabulary import Site


@pytest.mark.parametrize("end", ["rolled back", "closed"])
def test_a_record_that_is_only_written_records_nothing(
    start: Start, session: AgentSession, site: Site, end: str
) -> None:
    """Of a push, and of a revert, whose record is a phase of the journal."""
    before = site.snapshot(times=True)
    site.open(session)
    applied(site, session)
    session.write_record('{"id": "first"}')
    session = ended(session, end, start, site)
    assert site.snapshot(times=True) == before
    site.push(session, edits(site), "second")
    overlay = site.snapshot(times=True)
    site.apply(session, site.revert(), "revert")
    session.write_record(None)
    session = ended(session, end, start, site)
    assert site.snapshot(times=True) == overlay
    site.push_revert(session)
    assert not (site.root / ".overlaysync").exists()


def ended(session: AgentSession, end: str, start: Start, site: Site) -> AgentSession:
    """A conversation that goes on."""
    if end == "rolled back":
        session.roll_back()
        return session
    session.close()
    session = start()
    assert site.open(session).recovered is None
    return session


@pytest.mark.parametrize("end", ["rolled back", "closed"])
@pytest.mark.parametrize("wrote", ["nothing", "half of it", "half of it again"])
def test_without_a_whole_record_nothing_is_recorded(
    start: Start, session: AgentSession, site: Site, wrote: str, end: str
) -> None:
    """The host never asks for it; a transaction is ended in good order all the same."""
    before = site.snapshot(times=True)
    site.open(session)
    applied(site, session)
    if wrote == "half of it again":
        session.write_record('{"id": "first"}')
    if wrote != "nothing":
        resource.prlimit(session.hello.pid, resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        with pytest.raises(ApplyError, match="cannot be recorded"):
            session.write_record(json.dumps({"id": "first", "much": "x" * 2000}))
    with pytest.raises(AgentBugError, match="there is no record yet"):
        session.record()
    ended(session, end, start, site)
    assert site.snapshot(times=True) == before


def test_a_written_record_needs_no_more_room(session: AgentSession, site: Site) -> None:
    """What is written once all targets of a push have agreed may fail in none of them."""
    site.open(session)
    applied(site, session)
    session.write_record('{"id": "first"}')
    resource.prlimit(session.hello.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    area = site.root / ".overlaysync/sample"
    directories = {path.name for path in (area / "originals").rglob("*") if path.is_dir()}
    session.record()
    assert (area / "manifest.json").read_text() == '{"id": "first"}'
    assert {path.name for path in (area / "originals").rglob("*") if path.is_dir()} == directories != set()


@pytest.mark.parametrize("changed", ["of the overlay before", "of this transaction", "nothing"])
def test_what_changed_since_it_was_proven_is_not_recorded(
    session: AgentSession, site: Site, changed: str
) -> None:
    """Between the proof and the record another target may have been waited for."""
    site.open(session)
    site.push(session, [site.replace("sample/data.json", "{}")], "before")
    original = (site.root / "sample/engine.py").read_text()
    site.apply(session, [site.replace("sample/engine.py", EDITED)], "first")
    paths = [InstalledPath("sample/data.json"), InstalledPath("sample/engine.py")]
    expected = {path: site.digest(path) for path in (*paths, InstalledPath("sample/never.py"))}
    session.write_record('{"id": "first"}')
    record = site.root / ".overlaysync/sample/manifest.json"
    if changed == "nothing":
        session.record(expected)
        assert json.loads(record.read_text())["id"] == "first"
        return
    edited = paths[changed == "of this transaction"]
    with (site.root / edited).open("a") as stream:
        stream.write("\n")
    with pytest.raises(ApplyError, match=f"{edited}"):
        session.record(expected)
    assert json.loads(record.read_text())["id"] == "before"
    if changed == "of the overlay before":
        assert (site.root / "sample/engine.py").read_text() == original


def test_a_roll_back_without_what_stood_there_is_none(session: AgentSession, site: Site) -> None:
    """Somebody cleared our directory meanwhile: what was replaced or removed is lost, and told."""
    site.open(session)
    applied(site, session)
    shutil.rmtree(site.root / ".overlaysync/sample/transaction/previous")
    with pytest.raises(UnfinishedError) as unfinished:
        session.roll_back()
    told = unfinished.value.message
    assert "sample/engine.py: the new content stands there (what stood there is kept no more)" in told
    assert "sample/lonely/only.py: still removed (what stood there is kept no more)" in told
    assert "sample/fresh/new.py" not in told
