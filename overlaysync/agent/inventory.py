"""The inventory of a distribution: every file of its RECORD by its status, and what surrounds them."""

from __future__ import annotations

import hashlib
import os

from overlaysync.agent import bytecode
from overlaysync.agent.failure import reason
from overlaysync.agent.frames import to_path, to_text
from overlaysync.agent.look import describe
from overlaysync.agent.mounts import mounts
from overlaysync.agent.record import hex_digest, read_record
from overlaysync.agent.tree import LinkInTheWay, Tree, join

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Facts = tuple[str, str, os.stat_result | None, str | None, str | None]


def take(
    tree: Tree, metadata: bytes, packages: Sequence[bytes] = (), known: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """The host's ``Inventory``, whose files come by directory.

    ``packages``: import packages and modules of an editable install. Its RECORD lists none of them, so what
    is there counts. ``known``: fingerprints by directory; of one that has still the same, no file is told.
    """
    record = read_record(tree, metadata)
    if packages:
        record.files = {}
        for path in below(tree, packages):
            record.add(to_text(path))
    rows: list[dict[str, Any]] = []
    strays: list[bytes] = []
    extensions: list[bytes] = []
    for name, recorded in sorted(record.files.items()):
        directory = Directory(tree, name, recorded)
        rows.append(directory.row((known or {}).get(name)))
        if not directory.is_cache:
            strays += directory.strays()
            extensions += directory.extensions()
    points, holder, file_system = mounts(tree)
    return {
        "record_sha256": record.sha256,
        "directories": rows,
        "strays": [to_text(path) for path in strays],
        "extensions": [to_text(path) for path in extensions],
        "outside": record.outside,
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
    """One directory that RECORD knows. ``recorded``: names in it, with their hashes as written."""

    def __init__(self, tree: Tree, path: str, recorded: Mapping[str, str]) -> None:
        self._tree, self._text, self._path, self._recorded = tree, path, to_path(path), recorded
        self.is_cache = "/__pycache__/" in "/%s/" % path
        self._error: OSError | None = None
        self._linked = False
        names: list[str] = []
        try:
            self._handle = tree.directory(self._path)
            self._linked = bytecode.is_linked(tree, self._path)
            names = os.listdir(self._handle)
        except OSError as error:
            self._error = error
        listed = {to_path(name) for name in recorded}
        self._modules = {name[:-3] for name in listed if name.endswith(b".py")}
        self._unrecorded = sorted(set(map(os.fsencode, names)) - listed)

    def row(self, fingerprint: object) -> dict[str, Any]:
        """The host's ``InstalledDirectory``; without files where it has this fingerprint."""
        facts = [self._facts(name) for name in sorted(self._recorded) if not name.endswith(".pyc")]
        compared = repr((self._linked, [_compared(*one) for one in facts]))
        own = hashlib.sha256(compared.encode("ascii", "backslashreplace")).hexdigest()
        files = None if own == fingerprint else [self._file(*one) for one in facts]
        return {"path": self._text, "fingerprint": own, "files": files}

    def _facts(self, name: str) -> Facts:
        """(name, hash in RECORD, status, kind and reason where it has none)"""
        error, status = self._error, None
        if error is None:
            try:
                status = os.stat(to_path(name), dir_fd=self._handle, follow_symlinks=False)
            except OSError as trouble:
                error = trouble
        kind = why = None
        if error is not None and not isinstance(error, FileNotFoundError):
            kind, why = "link" if isinstance(error, LinkInTheWay) else "unreadable", reason(error)
        return name, self._recorded[name], status, kind, why

    def _file(
        self, name: str, written: str, status: os.stat_result | None, kind: str | None, why: str | None
    ) -> dict[str, Any]:
        """The host's ``InstalledFile``, by its status alone: nothing is read."""
        path = "%s/%s" % (self._text, name) if self._text else name
        row: dict[str, Any] = {"path": path, "kind": kind or "missing", "error": why, "recorded": True}
        row["record_sha256"] = hex_digest(written)
        if status is not None:
            describe(status, row)
        if self._linked and name.endswith(".py"):
            row["linked_cache"] = True
        return row

    def strays(self) -> list[bytes]:
        """What RECORD does not list and would be imported in place of a module that it lists.

        A package directory comes before a module of its name, and an extension module before a source.
        """
        return [
            path
            for name in self._unrecorded
            if name.partition(b".")[0] in self._modules
            if name.endswith(b".so") or name in self._modules
            if (path := join(self._path, name)) and (name.endswith(b".so") or _is_package(self._tree, path))
        ]

    def extensions(self) -> list[bytes]:
        """What RECORD does not list, and looks like an extension module beside files that it lists."""
        found = (name for name in self._unrecorded if name.endswith((b".so", b".pyd")))
        return [join(self._path, name) for name in found] if self._path else []


def _compared(
    name: str, written: str, status: os.stat_result | None, kind: str | None, why: str | None
) -> tuple[object, ...]:
    """What may differ between two looks at a file, for the fingerprint."""
    if status is None:
        return name, written, kind, why
    return (
        name,
        written,
        status.st_mode,
        status.st_ino,
        status.st_dev,
        status.st_nlink,
        status.st_uid,
        status.st_gid,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def _is_package(tree: Tree, path: bytes) -> bool:
    """A directory that is imported as a package: by source, by bytecode alone, or by an extension module."""
    names = tree.names(path)
    return any(name.startswith(b"__init__.") and name.endswith((b".py", b".pyc", b".so")) for name in names)
