"""Digests of file content: git's blob id and the digest of record (sha256), streaming."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from msgspec import Struct

from overlaysync.model.worktree import Content, ObjectId, Sha256
from overlaysync.worktree.newlines import LineEnds, whole_line_ends

START = 1024
"""How much of the beginning of a content is kept: a Git LFS pointer is shorter than this by definition."""

_HASHES = {"sha1": hashlib.sha1, "sha256": hashlib.sha256}


class Reading(Struct, frozen=True):
    """A content as read once: its digests, its line ends and its beginning."""

    content: Content
    line_ends: LineEnds
    start: bytes


def blob_id(pieces: Iterable[bytes], size: int, object_format: str) -> ObjectId:
    """The id that git gives to a blob of these bytes. git hashes the size first, so it must be known."""
    blob = _HASHES[object_format](b"blob %d\0" % size, usedforsecurity=False)
    for piece in pieces:
        blob.update(piece)
    return ObjectId(blob.hexdigest())


def read(
    pieces: Iterable[bytes], size: int, object_format: str, *, canonical_newlines: bool = False
) -> Reading:
    """All that is known of a content of ``size`` bytes, from one pass over its pieces."""
    blob = _HASHES[object_format](b"blob %d\0" % size, usedforsecurity=False)
    record, line_ends, start = hashlib.sha256(), LineEnds(), b""
    for piece in whole_line_ends(pieces):
        blob.update(piece)
        record.update(piece)
        line_ends.count(piece)
        if len(start) < START:
            start += piece[: START - len(start)]
    digests = (Sha256(record.hexdigest()), ObjectId(blob.hexdigest()))
    return Reading(Content(*digests, size, canonical_newlines), line_ends, start)
