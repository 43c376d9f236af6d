"""One plan carried out in one target: all of it or none of it.

Until the manifest is renamed into place (the one commit point), every step only adds names (hard links of
what stood there, temporary files beside their destination) or can be undone from ``previous/``. So a kill at
any instant leaves the old tree after ``settle.settle``, or, once the manifest names the journal's
transaction, the new one. How a transaction ends is decided by what lies on the disk alone.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat

from overlaysync.agent import bytecode
from overlaysync.agent.area import HOME, Area
from overlaysync.agent.failure import Failure, reason
from overlaysync.agent.frames import to_path, to_text
from overlaysync.agent.tree import LinkInTheWay, hand_over, join, split

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Give = Callable[[bytes, bytes], None]

STAGING, APPLYING, REVERTED = "staging", "applying", "reverted"
IDENTITY = re.compile(r"[A-Za-z0-9._-]{1,100}\Z")
DIGEST = re.compile(r"[0-9a-f]{64}\Z")


class Step:
    """One operation with its names in the tree. Raises ValueError for a row that is no operation of ours."""

    def __init__(self, area: Area, row: Any, number: int, identity: str) -> None:
        self.path = _installed_path(row.get("path") if isinstance(row, dict) else None)
        self.before: str | None = row.get("before")
        self.after: str | None = row.get("after")
        flags = [row.get(name) for name in ("restores", "keeps_original", "executable")]
        if not all(isinstance(flag, bool) for flag in flags):
            raise ValueError("%r: a flag is missing" % self.path)
        self.restores, self.keeps_original, self.executable = flags
        for digest in (self.before, self.after):
            if digest is not None and not (isinstance(digest, str) and DIGEST.match(digest)):
                raise ValueError("%r: %.100r is no digest" % (self.path, digest))
        if (self.before == self.after and not self.restores) or (self.restores and self.after is None):
            raise ValueError("%r: nothing to do" % self.path)
        directory, _ = split(self.path)
        self.temporary = join(directory, b"%s-%s-%d" % (HOME, identity.encode("ascii"), number))
        self.original = join(area.originals, self.path)
        self.previous = join(area.previous, self.path)


class Transaction:
    """A transaction between ``begin`` and ``settle``. Raises ValueError for a journal that is not ours.

    ``removable``: directories that earlier transactions made, which go when they are empty again.
    """

    def __init__(self, area: Area, journal: dict[str, Any], removable: Iterable[bytes] = ()) -> None:
        self.area = area
        self.tree = area.tree
        self.identity = journal.get("id")
        if not isinstance(self.identity, str) or not IDENTITY.match(self.identity):
            raise ValueError("%.100r is no id of a transaction" % (self.identity,))
        self.phase = journal.get("phase", STAGING)
        if self.phase not in (STAGING, APPLYING, REVERTED):
            raise ValueError("%.100r is no phase of a transaction" % (self.phase,))
        self.rows = _list(journal.get("operations"))
        self.made = [_installed_path(path) for path in _list(journal.get("made", []))]
        self.steps = [Step(area, row, number, self.identity) for number, row in enumerate(self.rows)]
        if len({step.path for step in self.steps}) < len(self.steps):
            raise ValueError("two operations on one path")
        self.removable = frozenset(removable)
        self.dropped: dict[str, dict[str, str]] = {}  # of each source: bytecode, and its validation
        self.applied = False
        self.unnamed_record: bytes | None = None  # written; that it gets this name will be the commit point

    def begin(self) -> None:
        """Writes the journal. Raises Failure("unfinished") where another one still lies."""
        if self.tree.status(self.area.transaction) is not None:
            raise Failure("unfinished", "the transaction before this one is not rolled back yet")
        self.area.make()
        self.write_journal()

    def write_journal(self) -> None:
        self.area.write(self.area.journal, self.journal(self.phase))

    def journal(self, phase: str) -> str:
        journal = {
            "id": self.identity,
            "phase": phase,
            "operations": self.rows,
            "made": [to_text(path) for path in self.made],
        }
        return json.dumps(journal)

    def make_room(self, step: Step) -> None:
        """Makes the directories that a step needs; the journal lists them before they are there."""
        directory, _ = split(step.path)
        missing = self.tree.missing_directories(directory)
        if missing:
            self.made.extend(missing)
            self.write_journal()
            self.tree.make_directories(directory, split(step.original)[0] if step.restores else None)

    def apply(self) -> None:
        """Puts everything in place. Raises Failure("apply" or "write") with the path at the first trouble."""
        for step in self.steps:
            self._try(self._flush, step)
        for step in self.steps:
            self._try(self._expect, step)
        self.phase = APPLYING
        self.write_journal()
        for step in self.steps:
            self._try(self._apply, step)
        for step in self.steps:
            if step.after is None:
                self._try(self._tidy_directories, step)

    @staticmethod
    def _try(action: Callable[[Step], None], step: Step) -> None:
        try:
            action(step)
        except OSError as error:
            meanwhile = isinstance(error, LinkInTheWay) or error.errno in (errno.ESTALE, errno.ENOENT)
            raise Failure("apply" if meanwhile else "write", reason(error), to_text(step.path))

    def _flush(self, step: Step) -> None:
        """New content on the disk; only now, since what the first one writes out most others need not."""
        if step.after is None or step.restores:
            return
        if self.tree.status(step.temporary) is None:
            raise Failure("apply", "its new content did not arrive", to_text(step.path))
        self.tree.flush(step.temporary)

    def _expect(self, step: Step) -> None:
        """The last look: the destination still is what the plan was made for; originals come back to hand."""
        if step.restores:
            self.make_room(step)
            self.tree.second_name(step.original, step.temporary)
            if self.tree.sha256(step.temporary) != step.after:
                raise Failure("apply", "the kept original is damaged", to_text(step.path))
        if self.tree.sha256(step.path) != step.before:
            raise Failure(
                "apply", "the file changed in the target since the plan was made", to_text(step.path)
            )

    def _apply(self, step: Step) -> None:
        # Bytecode first: once a file's previous name is there, whatever bytecode it has is known to be new.
        for item in bytecode.beside(self.tree, step.path):
            self.dropped.setdefault(to_text(step.path), {})[to_text(item)] = bytecode.validation(
                self.tree, item
            )
            self._set_aside(item, self.tree.move)
        if step.before is not None:
            self._set_aside(step.path, self.tree.second_name)
            if self.tree.sha256(step.previous) != step.before:
                raise Failure("apply", "the file changed in the target meanwhile", to_text(step.path))
        if step.after is None:
            self.tree.remove(step.path)
            return
        self.tree.move(step.temporary, step.path)
        if step.restores:
            self.tree.remove(step.temporary)  # rename(2) leaves two names of one file as they are
            for item in bytecode.beside(self.tree, step.original):
                self.bring_back(item, self.area.originals, self.tree.second_name)

    def _set_aside(self, path: bytes, give: Give) -> None:
        kept = join(self.area.previous, path)
        self.tree.make_directories(split(kept)[0], split(path)[0])
        give(path, kept)

    def bring_back(self, kept: bytes, area: bytes, give: Give) -> None:
        """Gives a file that was kept below ``area`` its place in the tree again, directories included."""
        path = kept[len(area) + 1 :]
        self.tree.make_directories(split(path)[0], split(kept)[0])
        give(kept, path)

    def _tidy_directories(self, step: Step) -> None:
        """Removes the directories above a removed file that are empty now, and that could be made again.

        Those above a file of the container's own are kept in mind with it; above one that was added, only
        what we made ourselves goes.
        """
        added = not step.keeps_original and self.tree.status(step.original) is None
        above, _ = split(step.path)
        while above and not (added and above not in self.removable):
            bytecode.drop_empty_cache(self.tree, above)
            status = self.tree.status(above)
            if status is not None:
                if self.tree.names(above) or os.geteuid() not in (0, status.st_uid):
                    return
                self.tree.remove_directory(above)
            above, _ = split(above)


class Staging:
    """New content on its way to a temporary name beside its destination."""

    def __init__(self, transaction: Transaction, step: Step) -> None:
        transaction.make_room(step)
        self.tree = transaction.tree
        self.step = step
        self.digest = hashlib.sha256()
        self.file = self.tree.create(step.temporary)

    def write(self, piece: bytes) -> None:
        self.digest.update(piece)
        while piece:
            piece = piece[os.write(self.file, piece) :]

    def finish(self) -> None:
        """Owner, mode, digest: what the temporary file must have before it may be renamed."""
        try:
            self._own()
        finally:
            self.close()
        if self.digest.hexdigest() != self.step.after:
            raise Failure("apply", "what arrived is not what was announced", to_text(self.step.path))

    def close(self) -> None:
        os.close(self.file)

    def _own(self) -> None:
        """Owner and mode of the file that is replaced; for a new one its directory's owner, 0644 or 0755."""
        status = self.tree.status(self.step.path)
        if status is not None:
            hand_over(self.file, status, stat.S_IMODE(status.st_mode), exact=True)
        else:
            directory = os.fstat(self.tree.directory(split(self.step.path)[0]))
            hand_over(self.file, directory, 0o755 if self.step.executable else 0o644, exact=False)


def _installed_path(text: object) -> bytes:
    """A destination: below the install root, and not one of our own names."""
    if not isinstance(text, str):
        raise ValueError("%.100r is no path" % (text,))
    path = to_path(text)
    try:
        split(path)
    except Failure as failure:
        raise ValueError(failure.message)
    except OSError as error:
        raise ValueError("%.100r: %s" % (text, reason(error)))
    if any(part.startswith(HOME) for part in path.split(b"/")):
        raise ValueError("%.100r is a name of our own" % text)
    return path


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("%.100r is no list" % (value,))
    return value
