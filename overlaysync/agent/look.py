"""Looks at installed files: any destination that the host asks for."""

from __future__ import annotations

import fcntl
import os
import stat
import struct

from overlaysync.agent import bytecode
from overlaysync.agent.failure import reason
from overlaysync.agent.frames import to_text
from overlaysync.agent.stamp import stamp_of
from overlaysync.agent.tree import LinkInTheWay, Tree, join, split

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

FS_IOC_GETFLAGS = 0x80086601  # ioctl_iflags(2)
IMMUTABLE, APPEND_ONLY = 0x10, 0x20


def look(
    tree: Tree, path: bytes, object_format: str, suffixes: Sequence[bytes] = (), writable: bool = False
) -> dict[str, Any]:
    """One installed path as the host's ``InstalledFile``; ``suffixes`` are those of extension modules."""
    row: dict[str, Any] = {"path": to_text(path), "kind": "missing"}
    try:
        status = tree.status(path)
        if status is not None:
            describe(status, row)
        if row["kind"] == "file":
            _read(tree, path, object_format, row)
        row["linked_cache"] = bytecode.linked_cache(tree, path)
        if suffixes:
            row["twins"] = [to_text(name) for name in twins(tree, path, suffixes)]
        if writable:
            row["unwritable"] = unwritable(tree, path, status)
    except LinkInTheWay as error:
        row.update(kind="link", error=reason(error))
    except OSError as error:
        row.update(kind="unreadable", error=reason(error))
    return row


def describe(status: os.stat_result, row: dict[str, Any]) -> None:
    """Adds what a status tells to a row of the host's ``InstalledFile``."""
    row.update(
        mode=stat.S_IMODE(status.st_mode),
        uid=status.st_uid,
        gid=status.st_gid,
        links=status.st_nlink,
        size=status.st_size,
    )
    if stat.S_ISREG(status.st_mode):
        row.update(kind="file", stamp=stamp_of(status))
    else:
        row["kind"] = "link" if stat.S_ISLNK(status.st_mode) else "other"


def _read(tree: Tree, path: bytes, object_format: str, row: dict[str, Any]) -> None:
    try:
        status, row["sha256"], row["blob"] = tree.digests(path, object_format)
        row.update(size=status.st_size, stamp=stamp_of(status))
    except LinkInTheWay:
        raise
    except OSError as error:
        row.update(kind="unreadable", error=reason(error))


def twins(tree: Tree, path: bytes, suffixes: Sequence[bytes]) -> list[bytes]:
    """Extension modules that the import system tries before ``path`` (they stand in the same directory)."""
    directory, name = split(path)
    if not name.endswith(b".py"):
        return []
    return [path for suffix in suffixes if tree.holds(path := join(directory, name[:-3] + suffix))]


def unwritable(tree: Tree, path: bytes, status: os.stat_result | None) -> str | None:
    """Why the running user could not put a file at ``path``, owner and mode kept; None when it can."""
    directory, _ = split(path)
    while directory and tree.status(directory) is None:
        directory, _ = split(directory)
    handle = tree.directory(directory)
    where = os.fsdecode(os.path.join(tree.root, directory))
    if os.fstatvfs(handle).f_flag & os.ST_RDONLY:
        return "%s is on a read-only file system" % where
    if _flagged(handle) or (
        status is not None and stat.S_ISREG(status.st_mode) and _flagged_file(tree, path)
    ):
        return "the immutable or append-only flag is set"
    effective = os.access in os.supports_effective_ids
    if not os.access(".", os.W_OK | os.X_OK, dir_fd=handle, effective_ids=effective):
        owner = os.fstat(handle)
        mode = stat.S_IMODE(owner.st_mode)
        return "uid %d may not write in %s (owner uid %d, mode %o)" % (
            os.geteuid(),
            where,
            owner.st_uid,
            mode,
        )
    if status is not None and os.geteuid() != 0:
        if status.st_uid != os.geteuid():
            return "uid %d cannot keep the file's owner, uid %d" % (os.geteuid(), status.st_uid)
        if status.st_gid not in (os.getegid(), *os.getgroups()):
            return "uid %d cannot keep the file's group, gid %d" % (os.geteuid(), status.st_gid)
    return None


def _flagged_file(tree: Tree, path: bytes) -> bool:
    try:
        file = tree.open(path)
    except OSError:
        return False
    try:
        return _flagged(file)
    finally:
        os.close(file)


def _flagged(handle: int) -> bool:
    try:
        answer = fcntl.ioctl(handle, FS_IOC_GETFLAGS, struct.pack("l", 0))
    except OSError:  # many file systems know no such flags
        return False
    flags: int = struct.unpack("l", answer)[0]
    return bool(flags & (IMMUTABLE | APPEND_ONLY))
