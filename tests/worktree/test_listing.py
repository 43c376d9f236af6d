"""The parsers give back any bytes that can be a path; line ends are the same in any pieces."""

from __future__ import annotations

import hashlib
import re
import subprocess
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as any_of

from overlaysync.model.worktree import MODE_EXECUTABLE, MODE_FILE, MODE_LINK, MODE_SUBMODULE
from overlaysync.worktree.digests import blob_id, read
from overlaysync.worktree.git import decode, encode
from overlaysync.worktree.listing import (
    parse_attributes,
    parse_ignore_rules,
    parse_index,
    parse_paths,
    parse_tree,
)
from overlaysync.worktree.newlines import LineEnds, to_line_feeds, whole_line_ends

paths = any_of.binary(min_size=1, max_size=30).filter(lambda raw: b"\0" not in raw)
ids = any_of.binary(min_size=20, max_size=20).map(bytes.hex)
modes = any_of.sampled_from([MODE_FILE, MODE_EXECUTABLE, MODE_LINK, MODE_SUBMODULE])
pieces = any_of.lists(any_of.text(alphabet="\r\na", max_size=5).map(str.encode), max_size=8)


@given(any_of.dictionaries(paths, any_of.tuples(modes, ids)))
def test_trees(entries: dict[bytes, tuple[int, str]]) -> None:
    output = b"".join(
        b"%06o %s %s\t%s\0" % (mode, b"commit" if mode == MODE_SUBMODULE else b"blob", oid.encode(), path)
        for path, (mode, oid) in entries.items()
    )
    tree = parse_tree(output)
    assert {encode(path): (entry.mode, entry.oid) for path, entry in tree.items()} == entries
    assert list(map(encode, tree)) == list(entries)


def test_modes_that_git_no_longer_writes() -> None:
    lines = [
        f"{mode} blob {'a' * 40}\t{mode}\0".encode() for mode in ("100664", "100600", "100700", "100755")
    ]
    modes = {path: entry.mode for path, entry in parse_tree(b"".join(lines)).items()}
    assert modes == {
        "100664": MODE_FILE,
        "100600": MODE_FILE,
        "100700": MODE_EXECUTABLE,
        "100755": MODE_EXECUTABLE,
    }


@given(any_of.dictionaries(paths, any_of.sampled_from("HShsM")))
def test_index_flags(entries: dict[bytes, str]) -> None:
    line = b"%s 100644 " + b"a" * 40 + b" 0\t%s\0"
    output = b"".join(line % (tag.encode(), path) * (3 if tag == "M" else 1) for path, tag in entries.items())
    index = parse_index(output)

    def tagged(tags: str) -> set[str]:
        return {decode(path) for path, tag in entries.items() if tag in tags}

    assert index.paths == set(map(decode, entries))
    assert set(index.unmerged) == tagged("M")
    assert index.skip_worktree == tagged("Ss")
    assert index.assume_unchanged == tagged("hs")


@given(any_of.lists(paths, unique=True))
def test_lists_of_paths(listed: list[bytes]) -> None:
    assert list(map(encode, parse_paths(b"".join(path + b"\0" for path in listed)))) == listed


@given(any_of.dictionaries(paths, any_of.sampled_from(["lfs", "unspecified"])))
def test_attributes_and_rules(entries: dict[bytes, str]) -> None:
    given_filter, ident = b"%s\0filter\0%s\0", b"%s\0ident\0set\0"
    answers = [given_filter % (path, value.encode()) + ident % path for path, value in entries.items()]
    expected = {decode(path): {"filter": value, "ident": "set"} for path, value in entries.items()}
    assert parse_attributes(b"".join(answers)) == expected
    rules = parse_ignore_rules(b"".join(b".gitignore\x001\0%s\0%s\0" % (path, path) for path in entries))
    assert rules == {decode(path): f".gitignore:1:{decode(path)}" for path in entries}


@given(pieces)
def test_pieces_never_part_a_line_end(parted: list[bytes]) -> None:
    whole = b"".join(parted)
    joined = list(whole_line_ends(parted))
    assert b"".join(joined) == whole
    assert not any(before[-1:] + after[:1] == b"\r\n" for before, after in pairwise(joined))
    assert b"".join(to_line_feeds(parted)) == whole.replace(b"\r\n", b"\n")


@given(pieces)
def test_line_ends_are_counted_alike_however_the_content_is_parted(parted: list[bytes]) -> None:
    whole, line_ends = b"".join(parted), LineEnds()
    for piece in whole_line_ends(parted):
        line_ends.count(piece)
    found = re.findall(rb"\r\n|\r|\n", whole)
    counted = (line_ends.crlf, line_ends.lone_cr, line_ends.lone_lf)
    assert counted == (found.count(b"\r\n"), found.count(b"\r"), found.count(b"\n"))
    assert line_ends.all_crlf == (set(found) == {b"\r\n"})


@given(pieces)
def test_the_form_with_line_feeds_is_what_git_itself_would_commit(parted: list[bytes]) -> None:
    """A file all of whose line ends are CRLF goes to its LF form and back without loss."""
    whole = b"".join(parted).replace(b"\r", b"").replace(b"\n", b"\r\n")
    halves = [whole[: len(whole) // 2], whole[len(whole) // 2 :]]
    lines = b"".join(to_line_feeds(halves))
    assert b"\r" not in lines
    assert lines.replace(b"\n", b"\r\n") == whole


@given(any_of.lists(any_of.binary(max_size=50), max_size=5))
def test_digests(parted: list[bytes]) -> None:
    whole = b"".join(parted)
    reading = read(parted, len(whole), "sha1")
    assert reading.content.sha256 == hashlib.sha256(whole).hexdigest()
    assert reading.content.blob == blob_id([whole], len(whole), "sha1")
    assert reading.start == whole[:1024]


def test_blob_ids_are_gits() -> None:
    content = b"a\r\nb\0\xff"
    process = subprocess.run(
        ["git", "hash-object", "--stdin", "--no-filters"], input=content, capture_output=True, check=True
    )
    assert blob_id([content], len(content), "sha1") == process.stdout.decode().strip()
