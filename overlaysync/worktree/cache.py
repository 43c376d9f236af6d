"""Blob ids of files by their status, so that a second look at an unchanged worktree reads no file.

One file per worktree: a header, a digest, and fixed-size records of key and blob id. Anything odd about it
makes it an empty cache; the cache can cost time, never an answer.
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
from pathlib import Path

import xxhash

from overlaysync.model.worktree import ObjectId
from overlaysync.worktree.git import encode

_MAGIC = b"overlaysync stat cache 1\n"
_DIGEST_SIZE = 16
_pack, _digest = struct.Struct("<qQqqqI").pack, xxhash.xxh3_128_digest

SETTLED_NS = 2_000_000_000
"""A file is remembered only when it was last touched this long before it was hashed: a later write within the
clock's granularity (2 s on the coarsest file systems) could otherwise leave size and times as they are."""


def cache_file(directory: Path, root: str) -> Path:
    """The cache's file for a worktree."""
    return directory / f"worktree-{xxhash.xxh3_128_hexdigest(encode(root))}.stat"


class StatCache:
    """What is known of files by device, inode, size, times and mode; with no ``file``, nothing ever is."""

    def __init__(self, file: Path | None, object_format: str) -> None:
        self._file = file
        self._record = struct.Struct("16s20s" if object_format == "sha1" else "16s32s")
        self._known = _load(file, self._record) if file else {}
        self._seen: dict[bytes, bytes] = {}

    def recall(self, path: str, status: os.stat_result) -> ObjectId | None:
        """The blob id of the file's content, if the file with this status was hashed before."""
        if not self._known:
            return None
        key = _key(path, status)
        blob = self._known.get(key)
        if blob is None:
            return None
        self._seen[key] = blob
        return ObjectId(blob.hex())

    def remember(self, path: str, status: os.stat_result, blob: ObjectId, hashed_at: int) -> None:
        """Keep a blob id. ``hashed_at`` is the time before reading, in ns; racy files are not kept."""
        settled = max(status.st_mtime_ns, status.st_ctime_ns) + SETTLED_NS < hashed_at
        if self._file is not None and settled:
            self._seen[_key(path, status)] = bytes.fromhex(blob)

    def save(self) -> None:
        """Write what was seen since the last time, if that is news; do without where it cannot be."""
        if self._file is None or self._seen == self._known:
            self._seen = {}
            return
        self._known, self._seen = self._seen, {}
        body = b"".join(map(self._record.pack, self._known.keys(), self._known.values()))
        with contextlib.suppress(OSError):
            _write(self._file, _MAGIC + xxhash.xxh3_128_digest(body) + body)


def _load(file: Path, record: struct.Struct) -> dict[bytes, bytes]:
    try:
        raw = file.read_bytes()
    except OSError:
        return {}
    start = len(_MAGIC) + _DIGEST_SIZE
    body = raw[start:]
    if raw[:start] != _MAGIC + xxhash.xxh3_128_digest(body) or len(body) % record.size:
        return {}
    return dict(record.iter_unpack(body))


def _key(path: str, status: os.stat_result) -> bytes:
    fields = _pack(
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_mode,
    )
    return _digest(fields + path.encode("utf-8", "surrogateescape"))


def _write(file: Path, raw: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}-{os.getpid()}-{threading.get_ident()}")
    try:
        temporary.write_bytes(raw)
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
