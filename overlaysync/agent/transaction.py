"""One plan carried out in one target: all of it or none of it.

Until the manifest is renamed into place (the one commit point), every step only adds names (hard links of
what stood there, temporary files beside their destination) or can be undone from ``previous/``. So a kill at
any instant leaves the old tree after ``settle.recover``, or, once the manifest names the journal's
transaction, the new one.
"""

import hashlib
import json
import os
import stat

from overlaysync.agent import bytecode
from overlaysync.agent.failure import Failure
from overlaysync.agent.frames import to_path, to_text
from overlaysync.agent.tree import join, split

STAGING, APPLYING, REVERTED = "staging", "applying", "reverted"


class Step(object):
    """One operation with its names in the tree."""

    def __init__(self, area, row, number, identity):
        self.path = to_path(row["path"])
        self.before = row["before"]
        self.after = row["after"]
        self.restores = row["restores"]
        self.keeps_original = row["keeps_original"]
        self.executable = row["executable"]
        directory, _ = split(self.path)
        self.temporary = join(directory, b".overlaysync-%s-%d" % (identity.encode("ascii"), number))
        self.original = join(area.originals, self.path)
        self.previous = join(area.previous, self.path)


class Transaction(object):
    """A transaction between ``begin`` and ``record`` (here) or ``settle.roll_back``."""

    def __init__(self, area, journal):
        self.area = area
        self.tree = area.tree
        self.identity = journal["id"]
        self.rows = journal["operations"]
        self.phase = journal.get("phase", STAGING)
        self.made = [to_path(path) for path in journal.get("made", ())]
        self.steps = [Step(area, row, number, self.identity) for number, row in enumerate(self.rows)]
        self.dropped = {}

    def begin(self):
        self.tree.make_directories(self.area.previous)
        self.write_journal()

    def write_journal(self):
        journal = {
            "id": self.identity,
            "phase": self.phase,
            "operations": self.rows,
            "made": [to_text(path) for path in self.made],
        }
        self.area.write(self.area.journal, json.dumps(journal))

    def make_room(self, step):
        """Makes the directories that a step needs; the journal lists them before they are there."""
        directory, _ = split(step.path)
        missing = self.tree.missing_directories(directory)
        if missing:
            self.made.extend(missing)
            self.write_journal()
            self.tree.make_directories(directory, split(step.original)[0] if step.restores else None)

    def apply(self):
        """Puts everything in place. Raises Failure("apply") with the path at the first trouble."""
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
    def _try(action, step):
        try:
            action(step)
        except OSError as error:
            raise Failure("apply", error.strerror or str(error), to_text(step.path))

    def _expect(self, step):
        """The last look: the destination still is what the plan was made for; originals come back to hand."""
        if step.restores:
            self.make_room(step)
            self.tree.second_name(step.original, step.temporary)
            if self.tree.digests(step.temporary)[1] != step.after:
                raise Failure("apply", "the kept original is damaged", to_text(step.path))
        status = self.tree.status(step.path)
        actual = None if status is None else self.tree.digests(step.path)[1]
        if actual != step.before:
            raise Failure(
                "apply", "the file changed in the target since the plan was made", to_text(step.path)
            )

    def _apply(self, step):
        # Bytecode first: once a file's previous name is there, whatever bytecode it has is known to be new.
        for item in bytecode.beside(self.tree, step.path):
            self._set_aside(item, self.tree.move)
            self.dropped.setdefault(to_text(step.path), []).append(to_text(item))
        if step.before is not None:
            self._set_aside(step.path, self.tree.second_name)
        if step.after is None:
            self.tree.remove(step.path)
            return
        self.tree.move(step.temporary, step.path)
        if step.restores:
            for item in bytecode.beside(self.tree, step.original):
                self.bring_back(item, self.area.originals, self.tree.second_name)

    def _set_aside(self, path, give):
        kept = join(self.area.previous, path)
        self.tree.make_directories(split(kept)[0], split(path)[0])
        give(path, kept)

    def bring_back(self, kept, area, give):
        """Gives a file that was kept below ``area`` its place in the tree again, directories included."""
        path = kept[len(area) + 1 :]
        self.tree.make_directories(split(path)[0], split(kept)[0])
        give(kept, path)

    def _tidy_directories(self, step):
        self.tree.remove_empty_above(step.path)


class Staging(object):
    """New content on its way to a temporary name beside its destination."""

    def __init__(self, transaction, step):
        transaction.make_room(step)
        self.tree = transaction.tree
        self.step = step
        self.digest = hashlib.sha256()
        directory, name = split(step.temporary)
        self.directory = self.tree.directory(directory)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self.file = os.open(name, flags, 0o600, dir_fd=self.directory)

    def write(self, piece):
        self.digest.update(piece)
        while piece:
            piece = piece[os.write(self.file, piece) :]

    def finish(self):
        """Owner, mode, digest: what the temporary file must have before it may be renamed."""
        self._own()
        os.fsync(self.file)
        self.close()
        if self.digest.hexdigest() != self.step.after:
            raise Failure("stage", "what arrived is not what was announced", to_text(self.step.path))

    def close(self):
        os.close(self.file)

    def _own(self):
        """Owner and mode of the file that is replaced; for a new one its directory's owner, 0644 or 0755."""
        status = self.tree.status(self.step.path)
        owner = os.fstat(self.directory) if status is None else status
        mode = (0o755 if self.step.executable else 0o644) if status is None else stat.S_IMODE(status.st_mode)
        mine = os.fstat(self.file)
        if (mine.st_uid, mine.st_gid) != (owner.st_uid, owner.st_gid):
            os.fchown(self.file, owner.st_uid, owner.st_gid)
        os.fchmod(self.file, mode)
