"""W11: submodules are compared with their gitlink, and read like the repository around them."""

from __future__ import annotations

from pathlib import Path

import pytest

from overlaysync.model.worktree import ChangeKind
from overlaysync.worktree.worktree import open_worktree
from tests.parts.repositories import Repository
from tests.worktree.conftest import Seen
from tests.worktree.vocabulary import changed, only_change, refused


@pytest.fixture
def vendored(checkout: Repository, tmp_path: Path) -> Repository:
    """The submodule ``vend`` of the checkout, which has it committed."""
    library = Repository(tmp_path / "library")
    library.write("lib.py", "lib = 1\n")
    library.commit()
    checkout.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.path), "vend")
    checkout.commit("Vendor")
    return Repository(checkout.path / "vend")


def test_a_clean_submodule(vendored: Repository, see: Seen) -> None:
    assert (changed(see()), refused(see())) == ([], [])


def test_a_dirty_submodule(vendored: Repository, see: Seen) -> None:
    for name in ("one", "two", "three"):
        vendored.write(f"{name}.py", "")
    vendored.write("lib.py", "lib = 2\n")
    vendored.git("update-index", "--assume-unchanged", "lib.py")
    change = only_change(see())
    assert (change.kind, change.path, change.content) == (ChangeKind.MODIFIED, "vend", None)
    assert change.note == (
        f"gitlink {vendored.head}, HEAD of the submodule {vendored.head}, "
        "changed in it: 'lib.py', 'one.py', 'three.py' and 1 more"
    )


def test_a_submodule_at_another_commit(checkout: Repository, vendored: Repository, see: Seen) -> None:
    gitlink = vendored.head
    vendored.write("lib.py", "lib = 2\n")
    vendored.commit()
    for _ in range(2):  # staging the gitlink does not make it HEAD's
        assert only_change(see()).note == f"gitlink {gitlink}, HEAD of the submodule {vendored.head}"
        checkout.git("add", "vend")
    checkout.commit()
    assert changed(see()) == []


def test_a_submodule_that_is_not_checked_out(checkout: Repository, vendored: Repository, see: Seen) -> None:
    checkout.git("submodule", "--quiet", "deinit", "--force", "vend")
    assert (changed(see()), refused(see())) == ([], [])


def test_a_submodule_that_is_not_checked_out_and_moved_in_the_index(
    checkout: Repository, vendored: Repository, see: Seen
) -> None:
    """No file tells of it, and a commit of it would need a rebuild as any other."""
    gitlink, other = vendored.head, "f" * 40
    checkout.git("submodule", "--quiet", "deinit", "--force", "vend")
    checkout.git("update-index", "--cacheinfo", f"160000,{other},vend")
    assert only_change(see()).note == f"gitlink {gitlink}, not checked out, and {other} in the index"
    checkout.git("update-index", "--cacheinfo", f"160000,{gitlink},vend")
    checkout.git("update-index", "--add", "--cacheinfo", f"160000,{other},another")
    (checkout.path / "another").mkdir()
    assert only_change(see()).note == "is a submodule that HEAD does not have"


def test_a_submodule_that_gave_way_to_a_file(checkout: Repository, vendored: Repository, see: Seen) -> None:
    checkout.git("submodule", "--quiet", "deinit", "--force", "vend")
    (checkout.path / "vend").rmdir()
    checkout.write("vend", "")
    assert only_change(see()).note == "was a submodule, is a regular file now"


def test_a_new_submodule(checkout: Repository, see: Seen) -> None:
    nested = Repository(checkout.path / "nested")
    nested.write("x.py", "")
    nested.commit()
    assert changed(see()) == []
    checkout.git("add", "nested")
    assert only_change(see()).note == "is a submodule that HEAD does not have"


def test_a_submodule_of_a_submodule(vendored: Repository, see: Seen, tmp_path: Path) -> None:
    inner = Repository(tmp_path / "inner")
    inner.write("inner.py", "")
    inner.commit()
    vendored.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "deep")
    vendored.commit()
    (vendored.path / "deep/inner.py").write_text("x = 1\n")
    assert "changed in it: 'deep'" in str(only_change(see()).note)


@pytest.mark.parametrize("leftover", ["file", "directory"])
def test_a_submodule_whose_repository_is_gone(vendored: Repository, see: Seen, leftover: str) -> None:
    (vendored.path / ".git").unlink()
    if leftover == "file":
        (vendored.path / ".git").write_text("gitdir: ../.git/modules/nowhere\n")
    else:
        (vendored.path / ".git").mkdir()  # git would go on to the repository around it
    snapshot = see()
    assert (changed(snapshot), refused(snapshot)) == ([], ["unreadable-file vend"])


def test_a_submodule_without_a_commit(vendored: Repository, see: Seen) -> None:
    vendored.git("checkout", "--quiet", "--orphan", "fresh")
    assert refused(see()) == ["unreadable-file vend"]


def test_a_conflict_in_a_submodule_is_a_change_of_it(vendored: Repository, see: Seen) -> None:
    first = vendored.head
    vendored.write("lib.py", "lib = 2\n")
    second = vendored.commit()
    vendored.git("checkout", "--quiet", first)
    vendored.write("lib.py", "lib = 3\n")
    vendored.commit()
    with pytest.raises(RuntimeError):
        vendored.git("merge", second)
    assert "changed in it: 'lib.py'" in str(only_change(see()).note)


def test_files_of_a_submodule_are_cached_too(vendored: Repository, checkout: Repository) -> None:
    with open_worktree(checkout.path, checkout.path / ".git/cache") as worktree:
        assert worktree.snapshot().changes == worktree.snapshot().changes == ()


def test_files_in_the_place_of_a_submodule(checkout: Repository, vendored: Repository, see: Seen) -> None:
    gitlink = vendored.head
    checkout.git("submodule", "--quiet", "deinit", "--force", "vend")
    checkout.write("vend/__pycache__/lib.cpython-311.pyc", "")
    assert changed(see()) == []
    checkout.write("vend/lib.py", "lib = 1\n")
    assert checkout.git("status", "--porcelain") == ""
    assert only_change(see()).note == f"gitlink {gitlink}, not checked out, and files stand in its place"
