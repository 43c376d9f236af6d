"""Trees that lead astray: nothing outside the install root is ever written, and the refusal says why."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from overlaysync.errors import AgentBugError, ApplyError, OverlayDamagedError, OverlaysyncError, TargetError
from overlaysync.model.classified import ChangeClass
from overlaysync.model.plan import Action, Operation
from overlaysync.model.target import FileKind, InstalledFile, InstalledPath
from overlaysync.model.worktree import RepoPath
from overlaysync.remote.session import AgentSession
from tests.agent.conftest import Start
from tests.agent.nobody import NOBODY, connect_as_nobody, needs_root
from tests.agent.vocabulary import METADATA, Edit, Site, digest

EDITED = "GENERATION = 2\n"


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A directory beside the install root with one file; it must be untouched at the end."""
    directory = tmp_path / "outside"
    directory.mkdir()
    (directory / "engine.py").write_text("OUTSIDE = 1\n")
    before = Site(directory).snapshot(times=True)
    yield directory
    assert Site(directory).snapshot(times=True) == before


def look(session: AgentSession, *paths: str, writable: bool = False) -> list[InstalledFile]:
    places = [InstalledPath(path) for path in paths]
    return list(session.look(places, object_format="sha1", suffixes=[".so"], writable=writable).values())


def creation(path: str, content: bytes = b"NEW = 1\n") -> Edit:
    operation = Operation(
        action=Action.ADD,
        source=RepoPath(path),
        destination=InstalledPath(path),
        change_class=ChangeClass.PYTHON,
        before=None,
        after=digest(content),
        cause="test",
    )
    return Edit(operation, content)


# -- links and other things in the way ---------------------------------------------------------------


def test_each_kind_of_file_is_told(
    session: AgentSession, site: Site, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = site.root / "sample"
    (package / "link.py").symlink_to(outside / "engine.py")
    (package / "linked").symlink_to(outside)
    os.mkfifo(package / "fifo.py")
    (package / "directory.py").mkdir()
    monkeypatch.chdir(package)  # the path of a socket must be short
    listening = socket.socket(socket.AF_UNIX)
    listening.bind("socket.py")
    site.open(session)
    names = ("engine", "link", "linked/engine", "fifo", "directory", "socket", "absent", "engine.py/below")
    found = look(session, *(f"sample/{name}.py" for name in names))
    listening.close()
    assert [file.kind.value for file in found] == [
        "file",
        "link",
        "link",
        "other",
        "other",
        "other",
        "missing",
        "link",
    ]
    assert all(file.sha256 is None for file in found[1:])


@needs_root
def test_a_device_is_not_opened(session: AgentSession, site: Site) -> None:
    os.mknod(site.root / "sample/null.py", 0o20666, os.makedev(1, 3))
    site.open(session)
    assert look(session, "sample/null.py")[0].kind is FileKind.OTHER


@pytest.mark.parametrize("kind", ["link", "fifo", "directory"])
def test_nothing_but_a_file_is_replaced(session: AgentSession, site: Site, outside: Path, kind: str) -> None:
    edit = site.replace("sample/engine.py", EDITED)
    engine = site.root / "sample/engine.py"
    engine.unlink()
    if kind == "link":
        engine.symlink_to(outside / "engine.py")
    elif kind == "fifo":
        os.mkfifo(engine)
    else:
        engine.mkdir()
    before = site.snapshot(times=True)
    site.open(session)
    with pytest.raises(ApplyError, match=r"sample/engine\.py"):
        site.apply(session, [edit])
    session.roll_back()
    assert site.snapshot(times=True) == before


def test_a_new_file_never_goes_through_a_dangling_link(
    session: AgentSession, site: Site, outside: Path
) -> None:
    (site.root / "sample/new.py").symlink_to(outside / "made.py")
    site.open(session)
    with pytest.raises(ApplyError):
        site.apply(session, [creation("sample/new.py")])
    session.roll_back()


def test_a_directory_that_is_a_link_is_not_entered(session: AgentSession, site: Site, outside: Path) -> None:
    (site.root / "sample/linked").symlink_to(outside)
    site.open(session)
    for path in ("sample/linked/new.py", "sample/linked/deep/new.py"):
        with pytest.raises(ApplyError, match="a link or no directory"):
            site.apply(session, [creation(path)])
        session.roll_back()


@pytest.mark.parametrize("moment", ["after the inventory", "after staging", "after applying"])
def test_a_directory_that_becomes_a_link_is_not_entered(
    session: AgentSession, site: Site, outside: Path, tmp_path: Path, moment: str
) -> None:
    """The agent holds handles of directories; between two requests they may be replaced."""
    edit = site.replace("sample/engine.py", EDITED)
    package = site.root / "sample"
    moved = tmp_path / "moved"

    def swap() -> None:
        package.rename(moved)
        package.symlink_to(outside)

    site.open(session)
    if moment == "after the inventory":
        swap()
    session.begin("first", [edit.operation], ())
    session.stage(0, [EDITED.encode()])
    if moment == "after staging":
        look(session, "sample/engine.py")  # in order, and answered
        swap()
    if moment == "after applying":
        session.apply([])
        swap()
    else:
        with pytest.raises(ApplyError):
            session.apply([])
    assert look(session, "sample/engine.py")[0].kind is FileKind.LINK
    if moment == "after applying":
        with pytest.raises(ApplyError, match="not rolled back"):
            session.roll_back()
    package.unlink()
    moved.rename(package)
    session.roll_back()
    assert (package / "engine.py").read_text() == "GENERATION = 1\n"
    assert not (site.root / ".overlaysync").exists()


def test_a_root_that_was_replaced_is_noticed(session: AgentSession, site: Site, tmp_path: Path) -> None:
    site.open(session)
    site.root.rename(tmp_path / "moved")
    with pytest.raises(TargetError, match="install root"):
        look(session, "sample/engine.py")
    Site(site.root).install()
    with pytest.raises(TargetError, match="was replaced meanwhile"):
        look(session, "sample/engine.py")


def test_a_root_that_is_a_link_is_resolved_first(session: AgentSession, site: Site, tmp_path: Path) -> None:
    spelled = tmp_path / "spelled"
    spelled.symlink_to(site.root)
    assert session.open(str(spelled), METADATA, "sample", "sha1").root == str(site.root)


@pytest.mark.parametrize("root", ["absent", "sample/engine.py", "sample\0"])
def test_a_root_that_is_no_directory(session: AgentSession, site: Site, root: str) -> None:
    with pytest.raises(OverlaysyncError):
        session.open(f"{site.root}/{root}", METADATA, "sample", "sha1")
    site.open(session)


# -- paths -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "../outside/new.py",
        "sample/../../outside/new.py",
        "/outside/new.py",
        "sample//new.py",
        "./new.py",
        "sample/.",
        "",
        "sample/\0.py",
        ".overlaysync/sample/manifest.json",
        "sample/.overlaysync-first-0",
        "/".join(["deep"] * 101),
    ],
)
def test_destinations_that_are_no_paths_below_the_root(
    session: AgentSession, site: Site, outside: Path, path: str
) -> None:
    before = site.snapshot(times=True)
    site.open(session)
    with pytest.raises(AgentBugError, match="not to be carried out"):
        session.begin("first", [creation(path).operation], ())
    assert site.snapshot(times=True) == before
    site.push(session, [creation("sample/new.py")])


def test_record_entries_that_lead_outside_are_told_apart(session: AgentSession, site: Site) -> None:
    rows = [
        "top.py,,",
        "../../bin/tool,,",
        "/etc/passwd,,",
        "/top.py,,",
        "sample/../x.py,,",
        '"sample/a, b.py",,',
        "sample/engine.py,,",
    ]
    site.write(f"{METADATA}/RECORD", "\n".join(rows) + "\n")
    inventory = site.open(session)
    assert sorted(inventory.outside) == ["../../bin/tool", "/etc/passwd", "/top.py", "sample/../x.py"]
    assert [(file.path, file.kind.value) for file in inventory.files] == [
        ("sample/a, b.py", "missing"),
        ("sample/engine.py", "file"),
        ("top.py", "missing"),
    ]


def test_record_with_odd_names(session: AgentSession, site: Site) -> None:
    """Names that other line splitters would cut, and bytes that are no UTF-8."""
    names = ["sample/new\nline.py", "sample/feed\x0c.py", "sample/\u2028.py", os.fsdecode(b"sample/\xff.py")]
    rows = b""
    for name in names:
        site.write(name, "ODD = 1\n")
        rows += b'"%s",,\n' % os.fsencode(name)
    site.write(f"{METADATA}/RECORD", rows + b"sample/" + b"x" * 300 + b".py,,\n" + b"a/" * 200 + b"b.py,,\n")
    inventory = site.open(session)
    kinds = {file.path: file.kind.value for file in inventory.files}
    assert {name: kinds.pop(InstalledPath(name)) for name in names} == dict.fromkeys(names, "file")
    assert sorted(kinds.values()) == ["unreadable", "unreadable"]


def test_a_record_that_is_no_table(session: AgentSession, site: Site) -> None:
    site.write(f"{METADATA}/RECORD", b'"' + b"x" * 200_000)
    with pytest.raises(TargetError, match=r"RECORD: it is damaged: field larger than field limit"):
        site.open(session)


def test_a_record_that_is_a_fifo_does_not_hang(session: AgentSession, site: Site) -> None:
    (site.root / METADATA / "RECORD").unlink()
    os.mkfifo(site.root / METADATA / "RECORD")
    with pytest.raises(TargetError, match="no regular file"):
        site.open(session)


def test_evidence_that_is_a_fifo_does_not_hang(session: AgentSession, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "commit")
    assert session.read(str(tmp_path / "commit")) is None
    assert session.read(str(tmp_path)) is None
    (tmp_path / "text").write_text("f" * 40)
    assert session.read(str(tmp_path / "text")) == "f" * 40


# -- our own directory -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [".overlaysync", ".overlaysync/sample", ".overlaysync/sample/transaction"])
@pytest.mark.parametrize("kind", ["link", "file"])
def test_our_directory_is_not_ours(
    session: AgentSession, site: Site, outside: Path, name: str, kind: str
) -> None:
    place = site.root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    if kind == "link":
        place.symlink_to(outside)
    else:
        place.write_text("somebody else's\n")
    before = site.snapshot(times=True)
    with pytest.raises(OverlayDamagedError, match="is no directory, so it is not ours"):
        site.open(session)
    assert site.snapshot(times=True) == before
    place.unlink()
    site.open(session)


@needs_root
@pytest.mark.parametrize("name", [".overlaysync", ".overlaysync/sample", ".overlaysync/sample/transaction"])
def test_our_directory_belongs_to_somebody_with_fewer_rights(
    session: AgentSession, site: Site, name: str
) -> None:
    """What stands in it is carried out with the agent's rights, so it is a way to gain them."""
    place = site.root / ".overlaysync/sample/transaction"
    place.mkdir(parents=True)
    os.chown(site.root / name, NOBODY, NOBODY)
    with pytest.raises(OverlayDamagedError, match=f"belongs to uid {NOBODY}"):
        site.open(session)
    os.chown(site.root / name, 0, 0)
    assert site.open(session).recovered is not None


@needs_root
def test_the_owner_of_the_root_may_have_pushed_before(session: AgentSession, site: Site) -> None:
    for directory, _, _ in os.walk(site.root):
        os.chown(directory, NOBODY, NOBODY)
    site.open(session)
    site.push(session, [site.replace("sample/engine.py", EDITED)])
    assert (site.root / ".overlaysync").stat().st_uid == NOBODY
    site.open(session)
    site.push_revert(session)


def test_our_directory_is_never_writable_for_others(session: AgentSession, site: Site) -> None:
    for directory, _, _ in os.walk(site.root):
        Path(directory).chmod(0o777)
    site.open(session)
    site.push(session, [site.replace("sample/engine.py", EDITED)])
    for path in (".overlaysync", ".overlaysync/sample"):
        assert (site.root / path).stat().st_mode & 0o022 == 0
    site.push_revert(session)
    assert not (site.root / ".overlaysync").exists()


def test_two_distributions_share_a_root(start: Start, site: Site) -> None:
    session = start()
    session.open(str(site.root), METADATA, "other", "sha1")
    site.push(session, [site.replace("sample/data.json", "{}\n")])
    other = {path for path in site.snapshot() if path.startswith(".overlaysync/")}
    site.open(session)
    engine = [site.replace("sample/engine.py", EDITED)]
    site.originals.clear()
    site.push(session, engine)
    site.push_revert(session)
    assert {path for path in site.snapshot() if path.startswith(".overlaysync/")} == other


# -- what may not be written -------------------------------------------------------------------------


@needs_root
def test_another_user_is_told_what_it_may_not_write(site: Site, tmp_path: Path) -> None:
    """D15: nothing is widened, and it is known before anything is written."""
    package = site.root / "sample"
    os.chown(package / "lonely", NOBODY, NOBODY)
    os.chown(package / "lonely/only.py", NOBODY, 0)
    (package / "helper.py").chmod(0o600)
    with connect_as_nobody(tmp_path) as session:
        site.open(session)
        found = look(
            session,
            "sample/engine.py",
            "sample/helper.py",
            "sample/lonely/only.py",
            "sample/lonely/new.py",
            writable=True,
        )
        assert found[0].unwritable is not None
        assert found[0].unwritable.startswith(f"uid {NOBODY} may not write in ")
        assert (found[1].kind, found[1].error) == (FileKind.UNREADABLE, "Permission denied")
        assert found[2].unwritable == f"uid {NOBODY} cannot keep the file's group, gid 0"
        assert found[3].unwritable is None
        with pytest.raises(ApplyError, match="no transaction can be begun"):
            site.apply(session, [creation("sample/lonely/new.py")])
    assert "new.py" not in {path.name for path in site.root.rglob("*")}


@needs_root
def test_another_user_pushes_into_its_own_root(site: Site, tmp_path: Path) -> None:
    """Group-writable, as Debian's is: what is new belongs to whoever made it."""
    for directory, _, names in os.walk(site.root):
        os.chown(directory, 0, NOBODY)
        Path(directory).chmod(0o2775)
        for name in names:
            os.chown(os.path.join(directory, name), NOBODY, NOBODY)
    before = site.snapshot(times=True)
    with connect_as_nobody(tmp_path) as session:
        site.open(session)
        edits = [site.replace("sample/engine.py", EDITED), site.add("sample/fresh/new.py", "NEW = 1\n")]
        site.push(session, edits)
        assert (site.root / "sample/fresh/new.py").stat().st_uid == NOBODY
        site.push_revert(session)
    assert site.snapshot(times=True) == before


@needs_root
def test_a_prefix_that_another_user_may_not_look_into(site: Site, tmp_path: Path) -> None:
    """Bytecode of the old source might lie there, for a workload that may."""
    for directory, _, names in os.walk(site.root):
        for path in (directory, *(os.path.join(directory, name) for name in names)):
            os.chown(path, NOBODY, NOBODY)
    private = tmp_path / "private"
    (private / "cache").mkdir(parents=True, mode=0o755)
    before = site.snapshot(times=True)
    with connect_as_nobody(tmp_path) as session:
        private.chmod(0o700)
        site.open(session)
        edit = site.replace("sample/engine.py", EDITED)
        session.begin("first", [edit.operation])
        session.stage(0, [EDITED.encode()])
        with pytest.raises(ApplyError, match=r"bytecode below \S+/private/cache cannot be looked for"):
            session.apply([str(private / "cache")])
        session.roll_back()
        assert site.snapshot(times=True) == before
        private.chmod(0o755)
        session.begin("second", [edit.operation])
        session.stage(0, [EDITED.encode()])
        session.apply([str(private / "cache")])
        session.write_record('{"id": "second"}')
        session.record()
    assert (site.root / "sample/engine.py").read_text() == EDITED


@needs_root
@pytest.mark.parametrize("flagged", ["sample/engine.py", "sample"])
def test_the_immutable_flag(session: AgentSession, site: Site, flagged: str) -> None:
    """D18: EPERM although mode and owner allow it."""
    before = site.snapshot(times=True)
    place = site.root / flagged
    if subprocess.run(["chattr", "+i", place], check=False, capture_output=True).returncode != 0:
        pytest.skip("this file system has no immutable flag")
    try:
        site.open(session)
        file = look(session, "sample/engine.py", writable=True)[0]
        assert file.unwritable == "the immutable or append-only flag is set"
        edits = [site.replace("sample/data.json", "{}\n"), site.replace("sample/engine.py", EDITED)]
        with pytest.raises(ApplyError, match="Operation not permitted"):
            site.apply(session, edits)
        session.roll_back()
        assert site.snapshot(times=True) == before
    finally:
        subprocess.run(["chattr", "-i", place], check=True)
    assert look(session, "sample/engine.py", writable=True)[0].unwritable is None
    site.push(session, edits)


@needs_root
def test_a_read_only_root_can_be_looked_at(session: AgentSession, site: Site) -> None:
    """D03; the lock holds there too."""
    mounted = ["mount", "--bind", str(site.root), str(site.root)]
    if subprocess.run(mounted, check=False, capture_output=True).returncode != 0:
        pytest.skip("no right to mount")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", site.root], check=True)
        inventory = site.open(session)
        assert {file.kind.value for file in inventory.files} == {"file"}
        assert inventory.mounts == (str(site.root),)
        file = look(session, "sample/engine.py", writable=True)[0]
        assert file.unwritable == f"{site.root}/sample is on a read-only file system"
        with pytest.raises(ApplyError, match="Read-only file system"):
            site.apply(session, [site.replace("sample/engine.py", EDITED)])
    finally:
        session.close()  # which holds the root open
        subprocess.run(["umount", site.root], check=True)
