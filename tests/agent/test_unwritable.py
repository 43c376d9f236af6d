"""A file system, or a file, that can no longer be written to: what is told, and what comes next."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from overlaysync.errors import ApplyError, UnfinishedError
from overlaysync.remote.session import AgentSession
from tests.agent.conftest import Start
from tests.agent.vocabulary import Edit, Site

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts and immutable files need root")

ROLLED_BACK = "an interrupted transaction was rolled back"

Prepare = Callable[[], object]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """An installed distribution on a file system of its own."""
    root = tmp_path / "site-packages"
    root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", root], check=True)
    try:
        yield Site(root).install()
    finally:
        subprocess.run(["umount", "--lazy", root], check=True)


def remount(site: Site, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", site.root], check=True)


def edits(site: Site) -> list[Edit]:
    return [
        site.replace("sample/engine.py", "GENERATION = 2\n"),
        site.add("sample/fresh/new.py", "NEW = 1\n"),
        site.remove("sample/lonely/only.py"),
        site.replace("sample/data.json", '{"heads": 8}\n'),
    ]


def stage(site: Site, session: AgentSession) -> None:
    planned = edits(site)
    session.begin("first", [edit.operation for edit in planned])
    for number, edit in enumerate(planned):
        if edit.content is not None:
            session.stage(number, [edit.content])


def test_a_disk_gone_read_only_names_every_file(start: Start, session: AgentSession, site: Site) -> None:
    before = site.snapshot(times=True)
    site.open(session)
    site.apply(session, edits(site))
    session.write_record('{"id": "first"}')
    remount(site, "ro")
    told = (
        r"^not rolled back: sample/engine\.py: the new content stands there \(Read-only file system\); "
        r"sample/fresh/new\.py: the new content stands there \(Read-only file system\); "
        r"sample/lonely/only\.py: still removed \(Read-only file system\); "
        r"sample/data\.json: the new content stands there \(Read-only file system\); "
        r"what stood there before is kept in \S+/\.overlaysync/sample/transaction"
    )
    with pytest.raises(UnfinishedError, match=told) as raised:
        session.record()
    assert raised.value.exit_code == 8
    assert "any command" in str(raised.value.next_step)
    session.close()
    for _ in range(2):
        with pytest.raises(UnfinishedError, match=told):
            site.open(start())
    remount(site, "rw")
    next_session = start()
    assert site.open(next_session).recovered == ROLLED_BACK
    assert site.snapshot(times=True) == before
    site.push(next_session, edits(site), "again")


def test_one_session_goes_on_when_the_disk_can_be_written_to_again(session: AgentSession, site: Site) -> None:
    """As ``watch`` does, which opens the root again and again."""
    before = site.snapshot(times=True)
    site.open(session)
    site.apply(session, edits(site))
    remount(site, "ro")
    for _ in range(2):
        with pytest.raises(UnfinishedError, match="not rolled back"):
            site.open(session)
    remount(site, "rw")
    assert site.open(session).recovered == ROLLED_BACK
    assert site.snapshot(times=True) == before
    site.push(session, edits(site), "again")


def test_a_disk_gone_read_only_while_staging(start: Start, session: AgentSession, site: Site) -> None:
    before = site.snapshot(times=True)
    site.open(session)
    stage(site, session)
    wait_until_staged(session)
    assert site.snapshot(times=True) != before
    remount(site, "ro")
    with pytest.raises(UnfinishedError, match=r"^every file is as it was, but .* cannot be tidied away"):
        session.roll_back()
    session.close()
    remount(site, "rw")
    assert site.open(start()).recovered == ROLLED_BACK
    assert site.snapshot(times=True) == before


def wait_until_staged(session: AgentSession) -> None:
    """Pieces have no reply of their own: the reply to what comes after them tells that they were taken in."""
    session.read("/")


@pytest.fixture(params=["immutable", "mounted"])
def trap(request: pytest.FixtureRequest, site: Site, tmp_path: Path) -> Iterator[tuple[Prepare, Prepare]]:
    """Makes ``sample/engine.py`` a file that cannot be replaced; takes that away again."""
    engine = site.root / "sample/engine.py"
    other = tmp_path / "other.py"
    other.write_text("MOUNTED = 1\n")
    commands: dict[str, tuple[list[str | Path], list[str | Path]]] = {
        "immutable": (["chattr", "+i", engine], ["chattr", "-i", engine]),
        "mounted": (["mount", "--bind", other, engine], ["umount", engine]),
    }
    on, off = commands[request.param]
    yield lambda: subprocess.run(on, check=True), lambda: subprocess.run(off, check=True)
    subprocess.run(off, check=False, capture_output=True)


def test_a_file_that_cannot_be_replaced_stops_all(
    session: AgentSession, site: Site, trap: tuple[Prepare, Prepare]
) -> None:
    before = site.snapshot(times=True)
    site.open(session)
    stage(site, session)
    wait_until_staged(session)
    trap[0]()
    with pytest.raises(ApplyError, match=r"sample/engine\.py: "):
        session.apply([])
    session.roll_back()
    trap[1]()
    assert site.open(session).recovered is None
    assert site.snapshot(times=True) == before
    site.push(session, edits(site), "again")


def test_a_file_that_cannot_be_put_back_is_named_alone(
    start: Start, session: AgentSession, site: Site, trap: tuple[Prepare, Prepare]
) -> None:
    before = site.snapshot(times=True)
    site.open(session)
    site.apply(session, edits(site))
    trap[0]()
    with pytest.raises(UnfinishedError, match=r"^not rolled back: sample/engine\.py: ") as raised:
        session.roll_back()
    assert raised.value.message.endswith("every other file is as it was")
    assert "only.py" not in raised.value.message
    session.close()
    trap[1]()
    assert site.open(start()).recovered == ROLLED_BACK
    assert site.snapshot(times=True) == before
