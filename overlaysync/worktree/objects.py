"""Blobs from the object database, through one ``git cat-file --batch`` that is kept open."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
from collections.abc import Iterator

from msgspec import Struct

from overlaysync.errors import BaselineError
from overlaysync.model.worktree import ObjectId
from overlaysync.worktree.digests import START
from overlaysync.worktree.files import PIECE
from overlaysync.worktree.git import Git
from overlaysync.worktree.recent_blobs import LARGEST, RecentBlobs

_ID_LENGTHS = {"sha1": 40, "sha256": 64}


def is_full_id(oid: str, object_format: str) -> bool:
    """Whether this is a full lower-case object id; a prefix is never compared with anything."""
    return len(oid) == _ID_LENGTHS[object_format] and re.fullmatch("[0-9a-f]+", oid) is not None


class BlobFacts(Struct, frozen=True):
    """What is asked about HEAD's blob besides its id. ``size`` is in bytes."""

    size: int
    start: bytes
    has_carriage_return: bool


class Objects:
    """Reads blobs by full id. May be shared by threads. ``recent``: what need not be read again."""

    def __init__(self, git: Git, object_format: str, recent: RecentBlobs | None = None) -> None:
        self._recent = recent
        self._git = git
        self._object_format = object_format
        self._process: subprocess.Popen[bytes] | None = None
        self._pid = 0  # of who talks to it: a child that is forked has one of its own
        self._turn = threading.Lock()

    def blob(self, oid: ObjectId) -> bytes:
        """A blob's bytes. Raises BaselineError where the repository does not hold such a blob."""
        with self._turn:
            return b"".join(self._pieces(oid))

    def facts(self, oid: ObjectId) -> BlobFacts:
        """The beginning of a blob and whether it holds a CR, without keeping it as a whole."""
        size, start, has_carriage_return = 0, b"", False
        with self._turn:
            for piece in self._pieces(oid):
                size += len(piece)
                start += piece[: max(0, START - len(start))]
                has_carriage_return = has_carriage_return or b"\r" in piece
        return BlobFacts(size, start, has_carriage_return)

    def _pieces(self, oid: ObjectId) -> Iterator[bytes]:
        """Must be read to the end: the rest would be taken for the next object's answer."""
        if not is_full_id(oid, self._object_format):
            raise BaselineError(f"{oid!r} is not a full object id")
        known = self._recent.get(oid) if self._recent is not None else None
        if known is not None:
            yield known
            return
        process = self._running()
        assert process.stdin is not None and process.stdout is not None  # noqa: S101 (told to mypy)
        with contextlib.suppress(BrokenPipeError):  # the answer is then empty
            process.stdin.write(f"{oid}\n".encode())
            process.stdin.flush()
        answer = process.stdout.readline().decode().split()
        if answer[1:2] == ["missing"] or not answer:
            raise self._missing(oid)
        kind, left = answer[1], int(answer[2])
        kept: list[bytes] | None = [] if self._recent is not None and left <= LARGEST else None
        while left > 0:
            piece = process.stdout.read(min(left, PIECE))
            if not piece:
                raise self._missing(oid)
            left -= len(piece)
            if kind == "blob":
                if kept is not None:
                    kept.append(piece)
                yield piece
        process.stdout.read(1)  # the line end after the object
        if kind != "blob":
            raise BaselineError(f"object {oid} is a {kind} where a blob was expected")
        if self._recent is not None and kept is not None:
            self._recent.keep(oid, b"".join(kept))

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._pid != os.getpid():
            self._process, self._pid = self._git.start("cat-file", "--batch"), os.getpid()
        return self._process

    def _missing(self, oid: ObjectId) -> BaselineError:
        """git says missing; or it ended, as it does where a partial clone may not fetch."""
        self._stop()
        return BaselineError(
            f"the repository does not hold the object {oid}",
            "see what 'git fsck' says; in a partial clone, 'git fetch --refetch --no-filter' gets it",
        )

    def close(self) -> None:
        """End the process."""
        with self._turn:
            self._stop()

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None and self._pid == os.getpid():
            process.kill()  # it only reads
            with contextlib.suppress(BrokenPipeError):
                process.communicate()
