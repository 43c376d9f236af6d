"""Journals and manifests that are damaged, or forged: nothing is carried out that is not wholly ours."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from overlaysync.errors import ApplyError, OverlayDamagedError
from overlaysync.remote.session import AgentSession
from tests.agent.vocabulary import Edit, Site, digest

JOURNAL = ".overlaysync/sample/transaction/journal.json"
MANIFEST = ".overlaysync/sample/manifest.json"
DIGEST = digest(b"GENERATION = 2\n")

Damage = Callable[[dict[str, Any]], Any]


def row(path: object = "sample/engine.py", **fields: object) -> dict[str, object]:
    return {
        "path": path,
        "before": None,
        "after": DIGEST,
        "restores": False,
        "keeps_original": False,
        "executable": False,
        **fields,
    }


def journal(*rows: object, **fields: object) -> dict[str, object]:
    return {"id": "forged", "phase": "applying", "operations": list(rows), "made": [], **fields}


def plant(site: Site, text: str | bytes) -> None:
    """A journal, and beside the root a file that it would like to have moved."""
    site.write(JOURNAL, text)
    site.write(".overlaysync/sample/transaction/previous/sample/engine.py", "FORGED = 1\n")
    (site.root.parent / "outside.py").write_bytes(b"GENERATION = 2\n")


FORGED = {
    "parent": journal(row("../outside.py")),
    "hidden parent": journal(row("sample/../../outside.py")),
    "absolute": journal(row("/outside.py")),
    "empty path": journal(row("")),
    "no path": journal(row(None)),
    "our own": journal(row(MANIFEST)),
    "NUL": journal(row("sample/\0.py")),
    "lone surrogate": journal(row("sample/\ud800.py")),
    "number as path": journal(row(7)),
    "no object": journal("sample/engine.py"),
    "missing flag": journal({"path": "sample/engine.py", "before": None, "after": DIGEST}),
    "flag of text": journal(row(restores="no")),
    "short digest": journal(row(after="abc")),
    "digest of a list": journal(row(before=[DIGEST])),
    "nothing to do": journal(row(after=None)),
    "one path twice": journal(row(), row()),
    "operations of text": journal(operations="sample/engine.py"),
    "no operations": {"id": "forged", "phase": "applying"},
    "id with a slash": journal(row(), id="../../outside"),
    "id of a number": journal(row(), id=1),
    "no id": journal(row(), id=None),
    "unknown phase": journal(row(), phase="finishing"),
    "phase of a list": journal(row(), phase=["applying"]),
    "made outside": journal(row(), made=["../outside"]),
    "made of text": journal(row(), made="sample"),
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED.keys())
def test_a_forged_journal_is_refused_whole(
    session: AgentSession, site: Site, forged: dict[str, object]
) -> None:
    plant(site, json.dumps(forged))
    before = Site(site.root.parent).snapshot(times=True)
    with pytest.raises(OverlayDamagedError, match=r"journal of an interrupted .*journal\.json: "):
        site.open(session)
    assert Site(site.root.parent).snapshot(times=True) == before


def test_a_journal_of_ours_is_carried_out(session: AgentSession, site: Site) -> None:
    """The control: the same journal, told of a file that is really kept."""
    site.write("sample/engine.py", "GENERATION = 2\n")
    plant(site, json.dumps(journal(row(before=digest(b"FORGED = 1\n")))))
    assert site.open(session).recovered == "an interrupted transaction was rolled back"
    assert (site.root / "sample/engine.py").read_text() == "FORGED = 1\n"
    assert not (site.root / ".overlaysync").exists()


UNREADABLE = {
    "empty": b"",
    "half": b'{"id": "forg',
    "list": b"[]",
    "number": b"1",
    "bytes": b"\xff\xfe\x00",
    "deep": b"[" * 100_000,
    "not ASCII": '{"id": "é"}'.encode(),
}


@pytest.mark.parametrize("name", [JOURNAL, MANIFEST], ids=["journal", "manifest"])
@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_record_that_cannot_be_read(session: AgentSession, site: Site, name: str, content: bytes) -> None:
    site.write(name, content)
    before = site.snapshot(times=True)
    with pytest.raises(OverlayDamagedError, match=name):
        site.open(session)
    assert site.snapshot(times=True) == before


@pytest.mark.parametrize("name", [JOURNAL, MANIFEST], ids=["journal", "manifest"])
def test_a_record_that_is_a_link(session: AgentSession, site: Site, name: str) -> None:
    elsewhere = site.root.parent / "elsewhere.json"
    elsewhere.write_text(json.dumps(journal(row())))
    (site.root / name).parent.mkdir(parents=True)
    (site.root / name).symlink_to(elsewhere)
    with pytest.raises(OverlayDamagedError, match="no regular file"):
        site.open(session)


def test_a_transaction_without_a_journal_had_not_begun(session: AgentSession, site: Site) -> None:
    before = site.snapshot(times=True)
    site.write(".overlaysync/sample/transaction/previous/left/over.py", "LEFT = 1\n")
    assert site.open(session).recovered == "an interrupted transaction was cleared away"
    assert site.snapshot(times=True) == before


def test_a_half_written_record_of_a_killed_run_is_replaced(session: AgentSession, site: Site) -> None:
    site.write(f"{MANIFEST}.new", '{"id": "ha')
    site.open(session)
    site.push(session, [site.replace("sample/engine.py", "GENERATION = 2\n")])
    assert (site.root / MANIFEST).read_text() == '{"id": "first"}'
    assert not (site.root / f"{MANIFEST}.new").exists()


@pytest.fixture
def killed(session: AgentSession, site: Site) -> list[Edit]:
    """A transaction that was applied, and whose agent was killed then."""
    edits = [
        site.replace("sample/engine.py", "GENERATION = 2\n"),
        site.add("sample/new.py", "NEW = 1\n"),
    ]
    site.open(session)
    site.apply(session, edits)
    os.kill(session.hello.pid, signal.SIGKILL)
    session.close()
    return edits


def test_a_file_that_was_edited_after_the_kill_is_left_alone(
    killed: list[Edit], start: Callable[[], AgentSession], site: Site
) -> None:
    """Neither old nor new stands there, so it is not understood; the rest waits with it."""
    engine = site.root / "sample/engine.py"
    engine.write_text("SOMEBODY = 'else'\n")
    for _ in range(2):
        with pytest.raises(ApplyError, match=r"sample/engine\.py: neither the old nor the new content"):
            site.open(start())
    assert engine.read_text() == "SOMEBODY = 'else'\n"
    engine.unlink()
    assert site.open(start()).recovered == "an interrupted transaction was rolled back"
    assert engine.read_text() == "GENERATION = 1\n"
    assert not (site.root / "sample/new.py").exists()


@pytest.mark.parametrize("kind", ["edited", "link"])
def test_a_new_file_that_was_replaced_after_the_kill_is_left_alone(
    killed: list[Edit], start: Callable[[], AgentSession], site: Site, kind: str
) -> None:
    new = site.root / "sample/new.py"
    new.unlink()
    if kind == "edited":
        new.write_text("SOMEBODY = 'else'\n")
    else:
        new.symlink_to(site.root / "sample/helper.py")
    site.open(start())
    assert (site.root / "sample/engine.py").read_text() == "GENERATION = 1\n"
    assert new.is_symlink() if kind == "link" else new.read_text() == "SOMEBODY = 'else'\n"
    assert not (site.root / ".overlaysync").exists()


def test_an_unfinished_roll_back_is_never_written_over(
    killed: list[Edit], start: Callable[[], AgentSession], site: Site
) -> None:
    """A new transaction in its place would lose what the old one keeps."""
    package: Path = site.root / "sample"
    package.rename(site.root / "moved")
    package.symlink_to("moved")
    session = start()
    with pytest.raises(ApplyError, match="not rolled back"):
        site.open(session)
    package.unlink()
    (site.root / "moved").rename(package)
    site.open(session)
    assert (package / "engine.py").read_text() == "GENERATION = 1\n"
