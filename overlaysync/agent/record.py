"""RECORD of a dist-info (PEP 376, PEP 627): the files of a distribution, by directory."""

from __future__ import annotations

import base64
import csv
import hashlib
import io

from overlaysync.agent.failure import Failure
from overlaysync.agent.frames import to_text
from overlaysync.agent.tree import LinkInTheWay, Tree, join

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from collections.abc import Iterable

RECORD_LIMIT = 64 * 1024 * 1024
QUOTED = ('"', "\r", "\0")
"""Marks of a RECORD that takes a parser, or is none."""


class Record:
    """``files``: by directory below the install root, name and hash as written; without cached bytecode.

    ``outside``: paths that leave the install root (scripts, data files), as written.
    """

    def __init__(self, sha256: str | None = None) -> None:
        self.sha256 = sha256
        self.files: dict[str, dict[str, str]] = {}
        self.outside: list[str] = []

    def add(self, path: str, digest: str = "") -> None:
        directory, _, name = path.rpartition("/")
        files = self.files.get(directory)
        if path.startswith("/") or name in ("", ".", "..") or "\0" in name:
            self.outside.append(path)
        elif files is not None:
            files[name] = digest
        elif _leaves_root(directory):
            self.outside.append(path)
        else:
            self.files[directory] = {name: digest}


def read_record(tree: Tree, metadata: bytes) -> Record:
    """Raises Failure("root") for a RECORD that is no CSV, or too large."""
    path = join(metadata, b"RECORD")
    try:
        if tree.status(path) is None:
            return Record()
    except LinkInTheWay:
        return Record()  # an egg-info may be a file, and a dist-info a link: it has no RECORD of its own
    content = tree.read_small(path, RECORD_LIMIT)
    if content is None:
        raise Failure("root", "it is no regular file, or too large", to_text(path))
    record = Record(hashlib.sha256(content).hexdigest())
    try:
        for name, digest in _rows(to_text(content)):
            if name and not (name.endswith(".pyc") and "/__pycache__/" in "/" + name):
                record.add(name, digest)
    except csv.Error as error:
        raise Failure("root", "it is damaged: %s" % error, to_text(path))
    return record


def _rows(text: str) -> Iterable[tuple[str, str]]:
    """Path and hash of each row. Of by far the most RECORDs no line is quoted, and each is a row."""
    plain = text.replace("\r\n", "\n")
    if any(mark in plain for mark in QUOTED):
        rows = csv.reader(io.StringIO(text, newline=""))
        return ((row[0], "".join(row[1:2])) for row in rows if row)
    fields = (line.partition(",") for line in plain.split("\n"))
    return ((path, rest.partition(",")[0]) for path, _, rest in fields)


def _leaves_root(directory: str) -> bool:
    parts = directory.split("/") if directory else []
    return "" in parts or "." in parts or ".." in parts or "\0" in directory


def hex_digest(value: str) -> str | None:
    """RECORD's ``sha256=<urlsafe base64, no padding>`` as hex digits; None for other hashes, and none."""
    algorithm, _, encoded = value.partition("=")
    if algorithm != "sha256":
        return None
    try:
        digest = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    except ValueError:
        return None
    return digest.hex() if len(digest) == 32 else None
