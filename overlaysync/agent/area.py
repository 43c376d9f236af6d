"""Our own directory in the target: ``.overlaysync/<distribution>`` beside the dist-info.

- ``manifest.json``: the record of the overlay that is in place;
- ``originals/``: the container's own files, mirrored by path, with their bytecode;
- ``transaction/``: journal and previous files of a transaction that is under way.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat

from overlaysync.agent.failure import Failure, reason
from overlaysync.agent.tree import Tree, join, split

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from typing import Any

HOME = b".overlaysync"
RECORD_LIMIT = 64 * 1024 * 1024
NAME = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?\Z")  # PEP 503 and what older tools still write
WRITABLE_BY_OTHERS = 0o022


class Area:
    """The names in it, the lock over it, and its own files."""

    def __init__(self, tree: Tree, distribution: str) -> None:
        if not NAME.match(distribution):
            raise Failure("usage", "not the normalised name of a distribution: %.100r" % distribution)
        self.tree = tree
        self.home = join(HOME, distribution.encode("ascii"))
        self.manifest = join(self.home, b"manifest.json")
        self.originals = join(self.home, b"originals")
        self.transaction = join(self.home, b"transaction")
        self.journal = join(self.transaction, b"journal.json")
        self.previous = join(self.transaction, b"previous")

    def lock(self) -> None:
        """Takes the kernel's lock on the install root; it goes with the process, so it is never stale."""
        where = os.fsdecode(self.tree.root)
        try:
            fcntl.flock(self.tree.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure("locked", "another run of overlaysync is at work in %s" % where)
        except OSError as error:
            raise Failure(
                "root", "%s cannot be locked (%s): use a local file system" % (where, reason(error))
            )

    def check(self) -> None:
        """What stands in the area is carried out, so nobody with fewer rights may have put it there.

        Raises Failure("damaged").
        """
        trusted = (0, os.geteuid(), os.fstat(self.tree.handle).st_uid)
        for path in (HOME, self.home, self.transaction):
            status = self.tree.status(path)
            if status is None:
                return
            where = os.fsdecode(os.path.join(self.tree.root, path))
            if not stat.S_ISDIR(status.st_mode):
                raise Failure("damaged", "%s is no directory, so it is not ours" % where)
            if status.st_uid not in trusted:
                raise Failure(
                    "damaged", "%s belongs to uid %d, who does not own the root" % (where, status.st_uid)
                )

    def make(self) -> None:
        """Makes the directories of a transaction; only their owner may write there."""
        self.tree.make_directories(self.previous, without=WRITABLE_BY_OTHERS)

    def is_settled(self) -> bool:
        """Whether nothing of an interrupted transaction is left to be settled."""
        status = self.tree.status
        return status(self.home) is None or (
            status(self.transaction) is None and status(self.manifest) is not None
        )

    def changed_at(self) -> float:
        """When the last transaction ended, by the target's clock; what started before may have older code.

        It made or removed something in our directory, or that itself in the one above, which is a directory's
        time of status change.
        """
        for path in (self.home, HOME):
            status = self.tree.status(path)
            if status is not None:
                return status.st_ctime
        return os.fstat(self.tree.handle).st_ctime

    def read(self, path: bytes) -> tuple[str | None, dict[str, Any] | None]:
        """One of our JSON records as (text, object), or (None, None). Raises Failure("damaged")."""
        if self.tree.status(path) is None:
            return None, None
        where = os.fsdecode(os.path.join(self.tree.root, path))
        content = self.tree.read_small(path, RECORD_LIMIT)
        if content is None:
            raise Failure("damaged", "the record %s is no regular file, or too large" % where)
        try:
            text = content.decode("ascii")
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Failure("damaged", "the record %s cannot be read: %s" % (where, error))
        if not isinstance(record, dict):
            raise Failure("damaged", "the record %s holds no object" % where)
        return text, record

    def write(self, path: bytes, text: str) -> None:
        """Puts one of our records in place."""
        self.write_new(path, text)
        self.rename_new(path)

    def write_new(self, path: bytes, text: str) -> None:
        """The first half, which takes room: a temporary file, fsync."""
        self.tree.remove(_new(path))
        with os.fdopen(self.tree.create(_new(path)), "wb") as stream:
            stream.write(text.encode("ascii"))
            stream.flush()
            os.fchmod(stream.fileno(), 0o644)
            os.fsync(stream.fileno())

    def rename_new(self, path: bytes) -> None:
        """The second half, which takes none: rename, fsync of the directory."""
        self.tree.move(_new(path), path)
        os.fsync(self.tree.directory(split(path)[0]))

    def _remove_tree(self, path: bytes) -> None:
        """Removes a directory of ours with all that is in it, the journal last: it tells what is going on."""
        if self.tree.status(path) is None:
            return
        for name in reversed(self.tree.names(path)):
            item = join(path, name)
            if self.tree.is_directory(item):
                self._remove_tree(item)
            else:
                self.tree.remove(item)
        self.tree.remove_directory(path)

    def leave(self) -> None:
        """Takes the transaction away, and our directories where nothing of ours is left in them.

        The transaction last, so that after a kill the next contact sees that there is something to do.
        """
        self.drop_unrecorded()
        self._remove_tree(self.transaction)
        for path in (self.home, HOME):
            try:
                self.tree.remove_directory(path)
            except OSError:
                pass  # not empty; where it is, it hinders nobody, and the next contact tries again

    def drop_unrecorded(self) -> None:
        """What takes room beside the transaction, and is of no use without its record."""
        self.tree.remove(_new(self.manifest))
        self._prune(self.originals)

    def _prune(self, path: bytes) -> None:
        """Removes the empty directories at and below ``path``."""
        for name in self.tree.names(path):
            item = join(path, name)
            if self.tree.is_directory(item):
                self._prune(item)
        if self.tree.is_directory(path) and not self.tree.names(path):
            self.tree.remove_directory(path)


def _new(path: bytes) -> bytes:
    """The name of a record while it is written."""
    return path + b".new"
