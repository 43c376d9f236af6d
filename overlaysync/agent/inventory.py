"""Looks at installed files: RECORD's own, and any destination the host asks for."""

from __future__ import annotations

import base64
import csv
import errno
import fcntl
import hashlib
import io
import os
import stat
import struct

from overlaysync.agent import bytecode
from overlaysync.agent.failure import Failure, reason
from overlaysync.agent.frames import to_path, to_text
from overlaysync.agent.stamp import stamp_of
from overlaysync.agent.tree import LinkInTheWay, Tree, join, split

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

RECORD_LIMIT = 64 * 1024 * 1024
FS_IOC_GETFLAGS = 0x80086601  # ioctl_iflags(2)
IMMUTABLE, APPEND_ONLY = 0x10, 0x20


def read_record(tree: Tree, metadata: bytes) -> tuple[str | None, dict[str, str | None], list[str]]:
    """RECORD of a dist-info (PEP 376, PEP 627): (its sha256 or None, {path below root: hash}, outside).

    Paths that leave the install root (scripts, data files) are returned apart, as written. Hashes other than
    sha256 are not taken. Raises Failure("root") for a RECORD that is no CSV, or too large.
    """
    path = join(metadata, b"RECORD")
    try:
        if tree.status(path) is None:
            return None, {}, []
    except LinkInTheWay:
        return (
            None,
            {},
            [],
        )  # an egg-info may be a file, and a dist-info a link: there is no RECORD of its own
    content = read_small(tree, path, RECORD_LIMIT)
    if content is None:
        raise Failure("root", "it is no regular file, or too large", to_text(path))
    inside: dict[str, str | None] = {}
    outside = []
    try:
        for row in csv.reader(io.StringIO(to_text(content), newline="")):
            if row and row[0] and _leaves_root(row[0]):
                outside.append(row[0])
            elif row and row[0]:
                inside[row[0]] = _hex_digest(row[1]) if len(row) > 1 else None
    except csv.Error as error:
        raise Failure("root", "it is damaged: %s" % error, to_text(path))
    return hashlib.sha256(content).hexdigest(), inside, outside


def _leaves_root(path: str) -> bool:
    parts = path.split("/")
    return "" in parts or "." in parts or ".." in parts or "\0" in path


def _hex_digest(value: str) -> str | None:
    """RECORD's ``sha256=<urlsafe base64, no padding>`` as hex digits, or None."""
    algorithm, _, encoded = value.partition("=")
    if algorithm != "sha256":
        return None
    try:
        digest = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    except ValueError:
        return None
    return digest.hex() if len(digest) == 32 else None


def read_small(tree: Tree, path: bytes, limit: int) -> bytes | None:
    """The bytes of a regular file of at most ``limit`` bytes, or None when there is none."""
    try:
        file = tree.open(path)
    except (FileNotFoundError, LinkInTheWay):
        return None
    with os.fdopen(file, "rb") as stream:
        content = stream.read(limit + 1)
    return content if len(content) <= limit else None


def look(
    tree: Tree, path: bytes, object_format: str, suffixes: Sequence[bytes] = (), writable: bool = False
) -> dict[str, Any]:
    """One installed path as the host's ``InstalledFile``; ``suffixes`` are those of extension modules."""
    row: dict[str, Any] = {"path": to_text(path), "kind": "missing"}
    try:
        status = tree.status(path)
        if status is not None:
            _describe(status, row)
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


def glance(tree: Tree, path: bytes, caches: dict[bytes, bool]) -> dict[str, Any]:
    """The same by its status alone: nothing is read. ``caches``: of directories, filled as they are met."""
    row: dict[str, Any] = {"path": to_text(path), "kind": "missing"}
    try:
        status = tree.status(path)
        if status is not None:
            _describe(status, row)
        directory, _ = split(path)
        if directory not in caches:
            caches[directory] = bytecode.is_linked(tree, directory)
        if caches[directory] and path.endswith(b".py"):
            row["linked_cache"] = True
    except LinkInTheWay as error:
        row.update(kind="link", error=reason(error))
    except OSError as error:
        row.update(kind="unreadable", error=reason(error))
    return row


def _describe(status: os.stat_result, row: dict[str, Any]) -> None:
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
    stem = name[:-3]
    wanted = {stem + suffix for suffix in suffixes}
    return [join(directory, other) for other in tree.names(directory) if other in wanted]


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


def mounts(tree: Tree) -> tuple[list[str], str, str | None]:
    """What is mounted at or below the root, and what it lies on, in this mount namespace (proc(5)).

    (mount points at or below, the one that the root lies on, the type of file system there if it is known)
    """
    root, own = tree.root, _mount_id(tree.handle)
    found, holder, kind = set(), b"/", None
    try:
        with open("/proc/self/mountinfo", "rb") as stream:
            for line in stream:
                identity, _, _, _, point = line.split(b" ")[:5]
                point = _unescape(point)
                if point == root or point.startswith(root + b"/"):
                    found.add(to_text(point))
                if point == root or root.startswith(point.rstrip(b"/") + b"/"):
                    holder = max(holder, point, key=len)
                if identity == own:
                    kind = to_text(line.partition(b" - ")[2].split(b" ")[0])
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
    return sorted(found), to_text(holder), kind


def _mount_id(handle: int) -> bytes | None:
    """Of the mount that an open directory is on: one that another hides has the same path."""
    try:
        with open("/proc/self/fdinfo/%d" % handle, "rb") as stream:
            return next((line.split()[1] for line in stream if line.startswith(b"mnt_id:")), None)
    except OSError:
        return None


def _unescape(field: bytes) -> bytes:
    """mountinfo writes space, tab, newline and backslash as three octal digits."""
    head, *rest = field.split(b"\\")
    return head + b"".join(bytes([int(part[:3], 8)]) + part[3:] for part in rest)


def take(tree: Tree, metadata: bytes, packages: Sequence[bytes] = ()) -> dict[str, Any]:
    """The inventory of a distribution: every file of RECORD below the root, by its status alone.

    ``packages``: import packages and modules of an editable install. Its RECORD lists none of them, so what
    is there counts.
    """
    digest, recorded, outside = read_record(tree, metadata)
    if packages:
        recorded = {to_text(path): None for path in below(tree, packages)}
    files = []
    caches: dict[bytes, bool] = {}
    for path, record_sha256 in sorted(recorded.items()):
        if not path.endswith(".pyc"):
            row = glance(tree, to_path(path), caches)
            row.update(recorded=True, record_sha256=record_sha256)
            files.append(row)
    paths = {to_path(path) for path in recorded if "/__pycache__/" not in path}
    directories = _directories(tree, paths)
    points, holder, file_system = mounts(tree)
    return {
        "record_sha256": digest,
        "files": files,
        "strays": [to_text(path) for path in strays(tree, paths, directories)],
        "extensions": [to_text(path) for path in extensions(paths, directories)],
        "outside": outside,
        "mounts": points,
        "mounted_on": holder,
        "file_system": file_system,
    }


def below(tree: Tree, names: Sequence[bytes]) -> list[bytes]:
    """Every file of some import packages and modules of the root, but bytecode. Raises OSError."""
    found: list[bytes] = []
    waiting = [name for name in names if tree.is_directory(name)]
    found.extend(name + b".py" for name in names if tree.status(name + b".py") is not None)
    while waiting:
        directory = waiting.pop()
        for name in tree.names(directory):
            path = join(directory, name)
            if not tree.is_directory(path):
                found.append(path)
            elif name != bytecode.CACHE:
                waiting.append(path)
    return found


class Directory:
    """What stands in a directory that RECORD knows, and the modules that it lists there."""

    def __init__(self, names: list[bytes]) -> None:
        self.names = names
        self.modules: set[bytes] = set()


def _directories(tree: Tree, recorded: set[bytes]) -> dict[bytes, Directory]:
    """In their order."""
    found: dict[bytes, Directory] = {}
    for path in recorded:
        try:
            directory, name = split(path)
        except OSError:
            continue  # deeper than any tree is looked at
        if directory not in found:
            found[directory] = Directory(tree.names(directory))
        if name.endswith(b".py"):
            found[directory].modules.add(name[:-3])
    return dict(sorted(found.items()))


def strays(tree: Tree, recorded: set[bytes], directories: dict[bytes, Directory]) -> list[bytes]:
    """What RECORD does not list and would be imported in place of a module that it lists.

    A package directory comes before a module of its name, and an extension module before a source.
    """
    found = []
    for directory, inside in directories.items():
        for name in inside.names:
            if name.partition(b".")[0] not in inside.modules or (path := join(directory, name)) in recorded:
                continue
            if name.endswith(b".so") or (name in inside.modules and _is_package(tree, path)):
                found.append(path)
    return found


def extensions(recorded: set[bytes], directories: dict[bytes, Directory]) -> list[bytes]:
    """What RECORD does not list, and looks like an extension module beside files that it lists."""
    return [
        path
        for directory, inside in directories.items()
        for name in (inside.names if directory else ())
        if name.endswith((b".so", b".pyd")) and (path := join(directory, name)) not in recorded
    ]


def _is_package(tree: Tree, path: bytes) -> bool:
    """A directory that is imported as a package: by source, by bytecode alone, or by an extension module."""
    names = tree.names(path)
    return any(name.startswith(b"__init__.") and name.endswith((b".py", b".pyc", b".so")) for name in names)
