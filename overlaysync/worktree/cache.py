"""Caches on the host: whole files with a digest; anything odd about one makes it empty.

``StatCache`` keeps digests of files by their status, so that a second look at unchanged files reads none.
A cache can cost time, never an answer.
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
from pathlib import Path

import xxhash

from overlaysync.model.stamp import Stamp

_MAGIC = b"overlaysync stat cache 1\n"
_DIGEST_SIZE = 16
_pack, _digest = struct.Struct("<qQqqqI").pack, xxhash.xxh3_128_digest

SETTLED_NS = 2_000_000_000
"""A file is remembered only when it was last touched this long before it was hashed: a later write within the
clock's granularity (2 s on the coarsest file systems) could otherwise leave size and times as they are."""


KEPT = 64
"""Files of a kind that are kept, those that were used last."""


def digest_size(object_format: str) -> int:
    """Bytes of an object id."""
    return 20 if object_format == "sha1" else 32


def cache_file(directory: Path, kind: str, name: str) -> Path:
    """The cache's file for what is called so (a worktree by its root)."""
    return directory / f"{kind}-{xxhash.xxh3_128_hexdigest(name.encode('utf-8', 'surrogatepass'))}.cache"


def is_settled(stamp: Stamp, hashed_at: int) -> bool:
    """Whether a write after ``hashed_at``, in ns the time before a file was read, would change its stamp."""
    _, _, _, mtime_ns, ctime_ns, _ = stamp
    return max(mtime_ns, ctime_ns) + SETTLED_NS < hashed_at


class StatCache:
    """What is known of files by device, inode, size, times and mode; with no ``file``, nothing ever is.

    ``size``: of a value, in bytes.
    """

    def __init__(self, file: Path | None, size: int) -> None:
        self._file = file
        self._record = struct.Struct(f"16s{size}s")
        self._known = _load(file, self._record) if file else {}
        self._seen: dict[bytes, bytes] = {}

    def recall(self, path: str, stamp: Stamp) -> bytes | None:
        """What is known of the file's content, if the file with this status was hashed before."""
        if not self._known:
            return None
        key = _key(path, stamp)
        value = self._known.get(key)
        if value is not None:
            self._seen[key] = value
        return value

    def remember(self, path: str, stamp: Stamp, value: bytes, hashed_at: int) -> None:
        """Keeps a value. ``hashed_at`` is the time before reading, in ns; racy files are not kept."""
        if self._file is not None and is_settled(stamp, hashed_at):
            self._seen[_key(path, stamp)] = value

    def save(self) -> None:
        """Write what was seen since the last time, if that is news; do without where it cannot be."""
        if self._file is None or self._seen == self._known:
            self._seen = {}
            return
        self._known, self._seen = self._seen, {}
        body = b"".join(map(self._record.pack, self._known.keys(), self._known.values()))
        save_cache(self._file, _MAGIC, body)


def _load(file: Path, record: struct.Struct) -> dict[bytes, bytes]:
    body = load_cache(file, _MAGIC)
    return dict(record.iter_unpack(body)) if len(body) % record.size == 0 else {}


def _key(path: str, stamp: Stamp) -> bytes:
    return _digest(_pack(*stamp) + path.encode("utf-8", "surrogatepass"))


def load_cache(file: Path, magic: bytes) -> bytes:
    """What ``save_cache`` wrote; nothing where that is not what stands there."""
    try:
        raw = file.read_bytes()
    except OSError:
        return b""
    with contextlib.suppress(OSError):
        os.utime(file)  # by which the oldest are known
    start = len(magic) + _DIGEST_SIZE
    return raw[start:] if raw[:start] == magic + xxhash.xxh3_128_digest(raw[start:]) else b""


def save_cache(file: Path, magic: bytes, body: bytes) -> None:
    """Writes it whole, or does without where it cannot be."""
    temporary = file.with_name(f".{file.name}-{os.getpid()}-{threading.get_ident()}")
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        is_new = not file.exists()
        try:
            temporary.write_bytes(magic + xxhash.xxh3_128_digest(body) + body)
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
        if is_new:
            _forget_oldest(file)


def _forget_oldest(file: Path) -> None:
    """Of the files of its kind; worktrees and containers come and go."""
    kind = file.name.partition("-")[0]
    files = sorted(file.parent.glob(f"{kind}-*"), key=lambda one: one.stat().st_mtime, reverse=True)
    for one in files[KEPT:]:
        one.unlink(missing_ok=True)
