"""Requests that are not as they should be: told by name, and the session goes on."""

from __future__ import annotations

from typing import Any

import pytest

from overlaysync.errors import AgentBugError, AgentLostError
from overlaysync.remote.session import AgentSession
from tests.agent.vocabulary import METADATA, Site

OPEN = {
    "root": "/tmp",
    "metadata": METADATA,
    "distribution": "sample",
    "packages": [],
    "known": {},
}
LOOK = {"paths": [], "object_format": "sha1", "suffixes": [], "writable": False}

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("no such request", {}, "unknown request 'no such request'"),
    ("close", {}, "unknown request 'close'"),
    ("__init__", {}, "unknown request"),
    ("open", {}, "'metadata' is None"),
    ("open", {**OPEN, "root": 1}, "'root' is 1"),
    ("open", {**OPEN, "root": "a\0b"}, "holds a NUL"),
    ("open", {**OPEN, "distribution": "../other"}, "not the normalised name"),
    ("open", {**OPEN, "distribution": ""}, "not the normalised name"),
    ("open", {**OPEN, "metadata": "../elsewhere"}, "not a path below the install root"),
    ("look", LOOK, "no install root is open"),
    (
        "glance",
        {"root": "/tmp", "distribution": "sample", "paths": [], "object_format": "md5"},
        "no object format 'md5'",
    ),
    ("peek", {"root": "/tmp", "distribution": "../other"}, "not the normalised name"),
    ("begin", {"identity": "x", "operations": []}, "no install root is open"),
    ("apply", {"pycache_prefixes": [], "search_path": []}, "no transaction is under way"),
    ("write_record", {"manifest": None}, "no transaction is under way"),
    ("record", {}, "no transaction is under way"),
    ("read", {"path": None}, "'path' is None"),
    ("processes", {"root": None}, "'ignore_pids' is None"),
    ("interpreters", {"user": ""}, "'environment' is None"),
    ("interpreters", {"environment": {"A": 1}}, "'environment' holds 1"),
    ("read_back", {"modules": "sample"}, "'modules' is 'sample'"),
]


@pytest.mark.parametrize(("name", "fields", "told"), WRONG)
def test_a_wrong_request_is_told_by_name(
    session: AgentSession, name: str, fields: dict[str, Any], told: str
) -> None:
    with pytest.raises(AgentBugError) as refused:
        session._ask(name, 10.0, **fields)
    assert told in refused.value.message
    assert "Traceback" not in refused.value.message
    assert session.read("/absent") is None


@pytest.mark.parametrize("identity", ["", "../x", "a b", "x" * 200, "é", None, 5])
def test_identities_that_could_name_something_else(session: AgentSession, site: Site, identity: Any) -> None:
    site.open(session)
    with pytest.raises(AgentBugError):
        session._ask("begin", 10.0, identity=identity, operations=[], removable=[])
    session._ask("begin", 10.0, identity="20261129T161500.250Z-3f9c2a", operations=[], removable=[])


def test_paths_are_checked_when_open(session: AgentSession, site: Site) -> None:
    site.open(session)
    for path in ("../outside.py", "/etc/passwd", "sample/../x.py"):
        with pytest.raises(AgentBugError, match="not a path below the install root"):
            session._ask("look", 10.0, **{**LOOK, "paths": [path]})
    with pytest.raises(AgentBugError, match="no object format"):
        session._ask("look", 10.0, **{**LOOK, "object_format": "crc32"})


def test_pieces_that_belong_nowhere_are_told_by_apply(session: AgentSession, site: Site) -> None:
    site.open(session)
    with pytest.raises(AgentBugError, match="no transaction is under way"):
        session.stage(0, [b"x"])
        session.apply([])
    edit = site.replace("sample/engine.py", "GENERATION = 2\n")
    for number in (-1, 1, 10**30):
        session.begin("first", [edit.operation], ())
        session._piece(number, b"x", last=True)
        with pytest.raises(AgentBugError, match=f"there is no operation {number}"):
            session.apply([])
        session.roll_back()
    site.push(session, [edit])


def test_pieces_of_two_files_are_not_mixed(session: AgentSession, site: Site) -> None:
    edits = [site.add("sample/one.py", "ONE = 1\n"), site.add("sample/two.py", "TWO = 2\n")]
    before = site.snapshot(times=True)
    site.open(session)
    session.begin("first", [edit.operation for edit in edits], ())
    session._piece(0, b"ONE", last=False)
    session._piece(1, b"TWO = 2\n", last=True)
    with pytest.raises(AgentBugError, match="in the middle of another's"):
        session.apply([])
    session.roll_back()
    assert site.snapshot(times=True) == before


def test_one_transaction_at_a_time(session: AgentSession, site: Site) -> None:
    site.open(session)
    edit = site.replace("sample/engine.py", "GENERATION = 2\n")
    session.begin("first", [edit.operation], ())
    with pytest.raises(AgentBugError, match="there is a transaction already"):
        session.begin("second", [edit.operation], ())
    session.roll_back()
    site.push(session, [edit], "third")


def test_what_is_no_frame_ends_the_agent_and_rolls_back(session: AgentSession, site: Site) -> None:
    before = site.snapshot(times=True)
    site.open(session)
    site.apply(session, [site.replace("sample/engine.py", "GENERATION = 2\n")])
    session._channel.send(b"GET / HTTP/1.1\r\n\r\n", 5.0)
    with pytest.raises(AgentLostError):
        session.record()
    session.close()
    assert site.snapshot(times=True) == before
