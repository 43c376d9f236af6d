"""Checkouts whose bytes are not the blob's: line ends, Git LFS, filters."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from overlaysync.model.worktree import ObjectId
from overlaysync.worktree.worktree import open_worktree
from tests.parts.repositories import Repository
from tests.worktree.conftest import Seen
from tests.worktree.vocabulary import changed, only_change, refused

# W05: line ends


@pytest.fixture
def crlf(checkout: Repository) -> Repository:
    """The checkout with ``core.autocrlf``: CRLF on disk, LF in the blobs."""
    checkout.git("config", "core.autocrlf", "true")
    for name in ("a", "b"):
        (checkout.path / f"p/{name}.py").unlink()
    checkout.git("checkout", "--", ".")
    assert (checkout.path / "p/a.py").read_bytes() == b"a = 1\r\n"
    return checkout


@pytest.mark.parametrize("setting", ["true", "false", "input"])
def test_a_converted_checkout_is_unchanged_whatever_the_setting(
    crlf: Repository, see: Seen, setting: str
) -> None:
    crlf.git("config", "core.autocrlf", setting)
    assert changed(see()) == []


def test_a_changed_file_of_a_converted_checkout_has_the_blobs_form(crlf: Repository, see: Seen) -> None:
    crlf.write("p/a.py", b"a = 2\r\nb = 3\r\n")
    change = only_change(see())
    assert change.content is not None
    assert change.content.canonical_newlines
    assert change.content.size == len(b"a = 2\nb = 3\n")
    assert change.content.sha256 == hashlib.sha256(b"a = 2\nb = 3\n").hexdigest()
    assert change.content.blob == crlf.git("hash-object", "p/a.py")
    with open_worktree(crlf.path) as worktree:
        assert worktree.content(change) == b"a = 2\nb = 3\n"


@pytest.mark.parametrize(
    "content", [b"a = 2\r\nb = 3\n", b"a = 2\r\nb = '\r'\r\n", b"a = 1\n\r\n", b"a = 1\r", b"a = 2"]
)
def test_mixed_line_ends_are_taken_as_they_are(checkout: Repository, see: Seen, content: bytes) -> None:
    checkout.write("p/a.py", content)
    change = only_change(see())
    assert change.content is not None
    assert not change.content.canonical_newlines
    with open_worktree(checkout.path) as worktree:
        assert worktree.content(change) == content


def test_a_blob_that_holds_a_carriage_return_is_compared_as_it_is(checkout: Repository, see: Seen) -> None:
    checkout.write("p/dos.py", b"a = 1\r\n")
    checkout.commit()
    assert changed(see()) == []
    checkout.write("p/dos.py", b"a = 2\r\n")
    change = only_change(see())
    assert change.content is not None
    assert (change.content.canonical_newlines, change.content.size) == (False, 7)


def test_a_file_converted_the_other_way_is_a_change(checkout: Repository, see: Seen) -> None:
    checkout.write("p/dos.py", b"a = 1\r\n")
    checkout.commit()
    checkout.write("p/dos.py", b"a = 1\n")
    assert changed(see()) == ["modified p/dos.py"]


def test_a_new_file_is_taken_as_it_is(crlf: Repository, see: Seen) -> None:
    crlf.write("p/new.py", b"a = 1\r\n")
    change = only_change(see())
    assert change.content is not None
    assert change.content.sha256 == hashlib.sha256(b"a = 1\r\n").hexdigest()


# W07: Git LFS

DATA = b"data = 1\n" * 300
POINTER = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:" + hashlib.sha256(DATA).hexdigest().encode() + b"\nsize " + str(len(DATA)).encode() + b"\n"
)


@pytest.fixture
def lfs(checkout: Repository) -> Repository:
    """The checkout with a pointer text as a blob, and no attribute that says so."""
    checkout.write("p/data.py", POINTER)
    checkout.commit()
    return checkout


def test_a_pointer_that_was_never_replaced_is_unchanged(lfs: Repository, see: Seen) -> None:
    assert (changed(see()), refused(see())) == ([], [])


def test_the_very_data_that_the_pointer_names_is_unchanged(lfs: Repository, see: Seen) -> None:
    lfs.write("p/data.py", DATA)
    assert (changed(see()), refused(see())) == ([], [])


@pytest.mark.parametrize("content", [DATA + b"\n", b"x = 1\n", POINTER.replace(b"size", b"ext-0-x y\nsize")])
def test_other_data_in_the_place_of_a_pointer(lfs: Repository, see: Seen, content: bytes) -> None:
    lfs.write("p/data.py", content)
    assert refused(see()) == ["lfs-pointer p/data.py"]


def test_a_removed_pointer(lfs: Repository, see: Seen) -> None:
    (lfs.path / "p/data.py").unlink()
    assert refused(see()) == ["lfs-pointer p/data.py"]


@pytest.mark.parametrize("name", ["p/new.py", "p/a.py"])
def test_a_pointer_in_the_worktree(checkout: Repository, see: Seen, name: str) -> None:
    checkout.write(name, POINTER)
    assert refused(see()) == [f"lfs-pointer {name}"]
    checkout.write(name, b"# " + POINTER)
    assert refused(see()) == []


@pytest.mark.parametrize("others", [0, 100])
def test_what_pointers_name(lfs: Repository, checkout: Repository, others: int) -> None:
    """Other blobs, damaged pointers and what a partial clone lacks are none, of few as of many."""
    for number in range(others):
        checkout.write(f"p/other_{number}.py", f"x = {number}\n")
    checkout.write("p/damaged.py", POINTER.replace(b"sha256:", b"sha1:"))
    checkout.write("p/large.py", POINTER + b"#" * 2000)
    checkout.commit()
    with open_worktree(checkout.path) as worktree:
        oids = [entry.oid for entry in worktree.tree(worktree.repository.head).values()]
        pointer = ObjectId(checkout.git("rev-parse", "HEAD:p/data.py"))
        digest = hashlib.sha256(DATA).hexdigest()
        assert len(set(oids)) > others
        assert worktree.pointed([*oids, ObjectId("1" * 40)]) == {pointer: digest}
        assert worktree.pointed([]) == {}


# Attributes


@pytest.mark.parametrize(
    ("attribute", "problem"),
    [
        ("filter=lfs", "lfs-pointer"),
        ("filter=strip", "git-filter"),
        ("ident", "git-filter"),
        ("working-tree-encoding=UTF-16", "git-filter"),
        ("working-tree-encoding=utf-8", None),
        ("-filter", None),
        ("text eol=crlf", None),
    ],
)
def test_attributes_of_changed_paths(
    checkout: Repository, see: Seen, attribute: str, problem: str | None
) -> None:
    checkout.write(".gitattributes", f"p/a.py {attribute}\np/b.py filter=strip\n")
    checkout.git("add", ".gitattributes")
    checkout.git("commit", "--quiet", "-m", "Attributes")
    assert refused(see()) == []
    checkout.write("p/a.py", "a = 2\n")
    assert changed(see()) == ["modified p/a.py"]
    assert refused(see()) == ([f"{problem} p/a.py"] if problem else [])


def test_attributes_of_this_clone_count_and_those_of_the_user_do_not(
    checkout: Repository, see: Seen, isolation: Path
) -> None:
    (isolation / "attributes").write_text("* filter=mine\n")
    (isolation / ".gitconfig").write_text(f"[core]\n\tattributesFile = {isolation / 'attributes'}\n")
    checkout.write("p/a.py", "a = 2\n")
    assert refused(see()) == []
    (checkout.path / ".git/info").mkdir(exist_ok=True)
    (checkout.path / ".git/info/attributes").write_text("* filter=ours\n")
    assert refused(see()) == ["git-filter p/a.py"]
