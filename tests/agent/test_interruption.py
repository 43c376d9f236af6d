"""The conversation breaks off, in every way that it can: what was not recorded is rolled back."""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from overlaysync.agent import frames
from overlaysync.errors import AgentBugError, AgentLostError, ApplyError, LockedError
from overlaysync.remote.channel import Channel
from overlaysync.remote.connecting import connect
from overlaysync.remote.session import AgentSession
from overlaysync.targets.local import LocalTransport
from tests.agent.conftest import Start
from tests.agent.vocabulary import Edit, Entry, Site, is_running

EDITED = "GENERATION = 2\n"


def edits(site: Site) -> list[Edit]:
    return [
        site.replace("sample/engine.py", EDITED),
        site.add("sample/fresh/new.py", "NEW = 1\n"),
        site.remove("sample/lonely/only.py"),
    ]


def staged(site: Site, session: AgentSession) -> None:
    """Up to the middle of the content of the second operation."""
    session.begin("first", [edit.operation for edit in edits(site)], ())
    session.stage(0, [EDITED.encode()])
    half = frames.encode({"do": "piece", "number": 1, "last": False}, b"NEW")
    session._channel.send(half, 5.0)


def applied(site: Site, session: AgentSession) -> None:
    site.apply(session, edits(site))
    assert (site.root / "sample/engine.py").read_text() == EDITED


@pytest.fixture(params=[staged, applied])
def reach(request: pytest.FixtureRequest) -> Callable[[Site, AgentSession], None]:
    """How far the transaction gets before it is interrupted."""
    reached: Callable[[Site, AgentSession], None] = request.param
    return reached


def wait_until_gone(pid: int, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while is_running(pid):
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.02)


def works_again(start: Start, site: Site, before: dict[str, Entry], recovered: str | None = None) -> None:
    """The tree is as it was, and nothing hinders the next run."""
    session = start()
    found = site.open(session).recovered
    assert found == recovered
    assert site.snapshot(times=True) == before
    site.push(session, edits(site), "again")
    assert (site.root / "sample/engine.py").read_text() == EDITED


def test_the_host_closes_without_a_word(
    start: Start, site: Site, reach: Callable[[Site, AgentSession], None]
) -> None:
    before = site.snapshot(times=True)
    session = start()
    site.open(session)
    reach(site, session)
    session._channel.close()
    wait_until_gone(session.hello.pid)
    works_again(start, site, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_agent_is_told_to_end(
    start: Start, site: Site, number: signal.Signals, reach: Callable[[Site, AgentSession], None]
) -> None:
    before = site.snapshot(times=True)
    session = start()
    site.open(session)
    reach(site, session)
    os.kill(session.hello.pid, number)
    wait_until_gone(session.hello.pid)
    works_again(start, site, before)


def test_the_host_says_goodbye(start: Start, site: Site, reach: Callable[[Site, AgentSession], None]) -> None:
    before = site.snapshot(times=True)
    with start() as session:
        site.open(session)
        reach(site, session)
    works_again(start, site, before)


def test_the_host_is_killed(start: Start, site: Site, python: Path, tmp_path: Path) -> None:
    """A host of its own process, so that the kernel closes its pipes."""
    before = site.snapshot(times=True)
    ready, told = os.pipe()
    host = os.fork()
    if host == 0:
        try:
            session = connect(LocalTransport(str(tmp_path), interpreter=str(python)))
            site.open(session)
            applied(site, session)
            os.write(told, b"%d\n" % session.hello.pid)
            time.sleep(60)
        finally:
            os._exit(1)
    os.close(told)
    with os.fdopen(ready) as stream:
        agent = int(stream.readline())
    os.kill(host, signal.SIGKILL)
    os.waitpid(host, 0)
    wait_until_gone(agent)
    works_again(start, site, before)


def test_the_agent_is_killed_and_the_next_contact_rolls_back(start: Start, site: Site) -> None:
    before = site.snapshot(times=True)
    session = start()
    site.open(session)
    applied(site, session)
    session.write_record('{"id": "first"}')
    os.kill(session.hello.pid, signal.SIGKILL)
    with pytest.raises(AgentLostError):
        session.record()
    works_again(start, site, before, "an interrupted transaction was rolled back")


def test_a_silent_host_is_given_up_after_the_idle_limit(start: Start, site: Site) -> None:
    before = site.snapshot(times=True)
    session = start(idle_limit=0.5)
    site.open(session)
    applied(site, session)
    wait_until_gone(session.hello.pid, 10.0)
    works_again(start, site, before)


def test_a_host_that_speaks_within_the_idle_limit_is_served(start: Start, site: Site) -> None:
    session = start(idle_limit=3.0)
    for _ in range(3):
        time.sleep(0.2)
        site.open(session)


def test_a_second_agent_finds_the_root_locked(start: Start, site: Site) -> None:
    first, second = start(), start()
    site.open(first)
    with pytest.raises(LockedError, match="another run"):
        site.open(second)
    first.close()
    site.open(second)
    site.push(second, edits(site))


def test_the_lock_goes_with_a_killed_agent(start: Start, site: Site) -> None:
    first, second = start(), start()
    site.open(first)
    os.kill(first.hello.pid, signal.SIGKILL)
    wait_until_gone(first.hello.pid)
    site.open(second)


def test_one_session_opens_the_root_again_and_again(session: AgentSession, site: Site) -> None:
    """As ``watch`` does: the lock is the session's, not the first request's."""
    for generation in range(3):
        site.open(session)
        site.push(
            session,
            [site.replace("sample/engine.py", f"GENERATION = {generation + 5}\n")],
            f"push-{generation}",
        )
    assert (site.root / "sample/engine.py").read_text() == "GENERATION = 7\n"


def test_opening_again_rolls_back_what_was_not_recorded(session: AgentSession, site: Site) -> None:
    before = site.snapshot(times=True)
    site.open(session)
    applied(site, session)
    assert site.open(session).recovered is None
    assert site.snapshot(times=True) == before


def test_only_an_applied_transaction_is_recorded(session: AgentSession, site: Site) -> None:
    before = site.snapshot(times=True)
    site.open(session)
    session.begin("first", [edit.operation for edit in edits(site)], ())
    with pytest.raises(AgentBugError, match="only an applied transaction"):
        session.write_record('{"id": "first"}')
    session.roll_back()
    assert site.snapshot(times=True) == before


def test_a_record_that_cannot_be_written_is_rolled_back(session: AgentSession, site: Site) -> None:
    before = site.snapshot(times=True)
    site.open(session)
    applied(site, session)
    resource.prlimit(session.hello.pid, resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
    with pytest.raises(ApplyError, match="cannot be recorded: File too large"):
        session.write_record(json.dumps({"id": "first", "much": "x" * 2000}))
    session.roll_back()
    assert site.snapshot(times=True) == before
    site.push(session, edits(site), "second")
    assert (site.root / "sample/engine.py").read_text() == EDITED


def test_a_revert_that_cannot_be_recorded_leaves_the_overlay(session: AgentSession, site: Site) -> None:
    site.open(session)
    site.push(session, edits(site))
    before = site.snapshot(times=True)
    site.apply(session, site.revert(), "revert")
    resource.prlimit(session.hello.pid, resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
    with pytest.raises(ApplyError, match="cannot be recorded"):
        session.write_record(None)
    session.roll_back()
    assert site.snapshot(times=True) == before


def test_a_session_can_go_on_after_a_roll_back(session: AgentSession, site: Site) -> None:
    site.open(session)
    applied(site, session)
    session.roll_back()
    site.push(session, edits(site), "second")
    assert (site.root / "sample/engine.py").read_text() == EDITED


def test_a_roll_back_of_nothing_is_no_trouble(session: AgentSession, site: Site) -> None:
    session.roll_back()
    before = site.snapshot(times=True)
    site.open(session)
    session.roll_back()
    assert site.snapshot(times=True) == before


def test_a_frozen_agent_is_given_up_by_the_deadline(start: Start, site: Site) -> None:
    session = start()
    channel: Channel = session._channel
    os.kill(session.hello.pid, signal.SIGSTOP)
    started = time.monotonic()
    with pytest.raises(AgentLostError, match="does not answer in time"):
        channel.receive(0.5)
    assert time.monotonic() - started < 5.0
    started = time.monotonic()
    with pytest.raises(AgentLostError, match="took no data"):
        channel.send(bytes(4_000_000), 0.5)
    assert time.monotonic() - started < 5.0
    os.kill(session.hello.pid, signal.SIGCONT)
