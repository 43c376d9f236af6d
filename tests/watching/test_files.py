"""Events of real directories; what is not worth a look; and where there are no events."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from overlaysync.watching.coverage import unwatched
from overlaysync.watching.files import FileEvents
from overlaysync.watching.mounts import file_system_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("package/deep", ".git/objects/ab", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "package/deep/module.py").write_text("")
    return tmp_path


@pytest.fixture
def woken() -> threading.Event:
    return threading.Event()


@pytest.fixture
def events(root: Path, woken: threading.Event) -> Iterator[FileEvents]:
    events = FileEvents(root, root / ".git", woken.set)
    assert events.polling is None
    yield events
    events.close()


def wakes(woken: threading.Event, action: Callable[[], object], seconds: float = 5) -> bool:
    woken.clear()
    action()
    return woken.wait(seconds)


def test_what_can_change_the_difference_wakes(root: Path, events: FileEvents, woken: threading.Event) -> None:
    module = root / "package/deep/module.py"
    assert wakes(woken, lambda: module.write_text("A = 1\n"))
    assert wakes(woken, lambda: module.rename(root / "package/other.py"))
    assert wakes(woken, lambda: (root / "package/fresh/deeper").mkdir(parents=True))
    assert wakes(woken, (root / "package/fresh/deeper/new.py").touch)
    assert wakes(woken, (root / "package/other.py").unlink)
    for name in (".gitignore", ".gitattributes"):
        assert wakes(woken, (root / name).touch), name
    for name in ("HEAD", "index", "index.lock"):
        assert wakes(woken, (root / ".git" / name).touch), name


def test_what_cannot_does_not(root: Path, events: FileEvents, woken: threading.Event) -> None:
    (root / "package/__pycache__").mkdir()
    woken.wait(0.3)
    assert not wakes(woken, (root / "package/deep/module.py").read_text, 0.3)
    assert not wakes(woken, lambda: (root / ".git/objects/ab/cd").write_text(""), 0.3)
    assert not wakes(woken, (root / "package/__pycache__/module.cpython-311.pyc").touch, 0.3)


def test_the_git_directory_of_a_linked_worktree_lies_elsewhere(root: Path, woken: threading.Event) -> None:
    events = FileEvents(root / "package", root / ".git", woken.set)
    try:
        assert wakes(woken, lambda: (root / ".git/HEAD").write_text(""))
    finally:
        events.close()


def test_polling_wakes_by_itself(root: Path, woken: threading.Event) -> None:
    events = FileEvents(root, root / ".git", woken.set, poll=True)
    try:
        assert events.polling == "it was asked for"
        assert wakes(woken, lambda: None)
        assert events.falls_back() is False
    finally:
        events.close()


def test_a_directory_that_is_not_watched_is_found(
    root: Path, events: FileEvents, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert unwatched(root) is None
    assert unwatched(tmp_path_factory.mktemp("other").parent) is not None


MOUNTS = """\
24 1 0:22 / / rw,relatime - ext4 /dev/sda1 rw
30 24 0:40 / /home rw - btrfs /dev/sdb rw
31 30 0:41 / /home/me/a\\040share rw shared:3 - nfs4 server:/export rw
32 24 0:42 / /home/me/tools rw - fuse.sshfs host: rw
broken line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib", "ext4"),
        ("/home/me/src", "btrfs"),
        ("/home/me/a share/src", "nfs4"),
        ("/home/me/tools", "fuse.sshfs"),
        ("/homework", "ext4"),
    ],
)
def test_the_file_system_of_a_path(tmp_path: Path, path: str, kind: str) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert file_system_of(Path(path), mounts) == kind


def test_where_mounts_are_not_told(tmp_path: Path) -> None:
    assert file_system_of(tmp_path, tmp_path / "absent") is None
    assert (
        file_system_of(tmp_path)
        == subprocess.run(
            ["findmnt", "-no", "FSTYPE", "--target", tmp_path], capture_output=True, text=True, check=True
        ).stdout.strip()
    )
