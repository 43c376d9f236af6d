"""What of HEAD the target does not have, and why."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from overlaysync.core.backends import Whole
from overlaysync.core.mapping import Shipped, prove
from overlaysync.core.presence import Absent, absent
from overlaysync.model.classified import ChangeClass
from overlaysync.model.plan import Placement
from overlaysync.model.target import FileKind, InstalledFile, InstalledPath
from overlaysync.model.worktree import MODE_FILE, ObjectId, RepoPath, Sha256, TreeEntry

PATHS = [RepoPath(f"pkg/{name}.py") for name in ("__init__", "engine", "gone", "new")]
TREE = {path: TreeEntry(MODE_FILE, ObjectId(f"{number:040d}")) for number, path in enumerate(PATHS, 1)}


def installed(path: RepoPath, *, there: bool = True) -> InstalledFile:
    if not there:
        return InstalledFile(path=InstalledPath(path), kind=FileKind.MISSING, recorded=True)
    oid = TREE[path].oid
    sha256 = Sha256(oid[:24] + oid)
    return InstalledFile(
        path=InstalledPath(path), kind=FileKind.FILE, size=9, sha256=sha256, blob=oid, recorded=True
    )


FILES = (installed(PATHS[0]), installed(PATHS[1]), installed(PATHS[2], there=False))


def placement(path: RepoPath, content: str | None) -> Placement:
    return Placement(
        source=path,
        destination=InstalledPath(path),
        change_class=ChangeClass.PYTHON,
        original_sha256=None,
        installed_sha256=None if content is None else Sha256(content * 64),
    )


def found(overlay: Mapping[InstalledPath, Placement]) -> Absent:
    shipped: Shipped = prove(TREE, FILES, overlay)
    return absent(TREE, shipped, FILES, Whole.NOTHING, overlay)


def test_what_the_image_lacks_is_told() -> None:
    missing = " ".join(found({}).missing)
    assert "pkg/gone.py: RECORD lists pkg/gone.py, and it is not there" in missing
    assert "pkg/new.py" in " ".join((missing, *found({}).not_packaged))


@pytest.mark.parametrize(("path", "content"), [(PATHS[2], None), (PATHS[3], "a")], ids=["removed", "added"])
def test_what_an_overlay_did_is_not_the_images(path: RepoPath, content: str | None) -> None:
    answer = found({InstalledPath(path): placement(path, content)})
    assert path not in " ".join((*answer.missing, *answer.not_packaged))
