"""A small installed distribution, the edits of a plan, and a look at all that is in the install root."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from overlaysync.model.classified import ChangeClass
from overlaysync.model.plan import Action, Operation
from overlaysync.model.target import Applied, InstalledPath, Inventory, Validation
from overlaysync.model.worktree import RepoPath, Sha256
from overlaysync.remote.session import AgentSession

NAME, METADATA = "sample", "sample-1.0.dist-info"
LONG_AGO = 1_600_000_000

FILES = {
    "sample/__init__.py": "",
    "sample/engine.py": "GENERATION = 1\n",
    "sample/helper.py": "def helped():\n    return 1\n",
    "sample/lonely/only.py": "ALONE = True\n",
    "sample/data.json": '{"heads": 4}\n',
    f"{METADATA}/METADATA": "Name: sample\nVersion: 1.0\n",
}


Dropped = dict[str, dict[str, Validation]]
"""Bytecode, with its validation, by the source that it was compiled from."""


class Entry(NamedTuple):
    """One path: ``content`` is a digest, ``-> target`` of a link, or nothing for what holds no bytes."""

    mode: int
    uid: int
    gid: int
    content: str
    mtime_ns: int | None


@dataclass(frozen=True)
class Edit:
    """One operation with its new content, where that is brought and not kept in the target."""

    operation: Operation
    content: bytes | None


def digest(content: bytes) -> Sha256:
    return Sha256(hashlib.sha256(content).hexdigest())


@dataclass
class Site:
    """An install root; what an overlay replaced there and which directories it made, as a manifest tells."""

    root: Path
    originals: dict[str, Sha256 | None] = field(default_factory=dict)
    directories: list[InstalledPath] = field(default_factory=list)

    def install(self, files: dict[str, str] | None = None) -> Site:
        """Writes the distribution with old times, and a RECORD of it."""
        for path, text in (FILES if files is None else files).items():
            self.write(path, text)
        rows = [
            f"{path},sha256=x,{len(text)}\n" for path, text in (FILES if files is None else files).items()
        ]
        self.write(f"{METADATA}/RECORD", "".join([*rows, f"{METADATA}/RECORD,,\n"]))
        return self

    def write(self, path: str, text: str | bytes) -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        os.utime(place, (LONG_AGO, LONG_AGO))
        return place

    def compile(self, python: Path, *options: str) -> list[str]:
        """Bytecode of everything as ``python -m compileall`` writes it; the paths that are there now."""
        command = [str(python), "-I", "-m", "compileall", "-q", *options, str(self.root / "sample")]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*.pyc"))

    def snapshot(self, *, times: bool = False) -> dict[str, Entry]:
        """All that is below the root; equal trees are equal dictionaries."""
        found, top = {}, len(os.fsencode(self.root)) + 1
        for directory, directories, names in os.walk(os.fsencode(self.root)):
            for name in [*directories, *names]:
                path = os.path.join(directory, name)
                found[os.fsdecode(path[top:])] = _entry(path, times)
        return found

    # -- edits, as the planner makes them --------------------------------------------------------------

    def replace(self, path: str, text: str) -> Edit:
        return self._edit(Action.REPLACE, path, text.encode())

    def add(self, path: str, text: str) -> Edit:
        return self._edit(Action.ADD, path, text.encode())

    def remove(self, path: str) -> Edit:
        return self._edit(Action.REMOVE, path, None)

    def restore(self, path: str) -> Edit:
        """Back to what the overlay replaced: the original, or no file."""
        original = self.originals[path]
        if original is None:
            return self._edit(Action.REMOVE, path, None)
        action = Action.ADD if self.digest(path) is None else Action.REPLACE
        return Edit(self._operation(action, path, original, restores=True), None)

    def revert(self) -> list[Edit]:
        return [self.restore(path) for path in sorted(self.originals)]

    def digest(self, path: str) -> Sha256 | None:
        place = self.root / path
        return digest(place.read_bytes()) if place.exists() else None

    def _edit(self, action: Action, path: str, content: bytes | None) -> Edit:
        after = None if content is None else digest(content)
        return Edit(self._operation(action, path, after), content)

    def _operation(
        self, action: Action, path: str, after: Sha256 | None, *, restores: bool = False
    ) -> Operation:
        before = self.digest(path)
        return Operation(
            action=action,
            source=RepoPath(path),
            destination=InstalledPath(path),
            change_class=ChangeClass.PYTHON,
            before=before,
            after=after,
            cause="test",
            restores=restores,
            keeps_original=before is not None and path not in self.originals,
        )

    # -- what the host does ----------------------------------------------------------------------------

    def open(self, session: AgentSession) -> Inventory:
        return session.open(str(self.root), METADATA, NAME, "sha1")

    def apply(self, session: AgentSession, edits: Iterable[Edit], identity: str = "first") -> Applied:
        """Everything before the commit point."""
        edits = list(edits)
        session.begin(identity, [edit.operation for edit in edits], (), self.directories)
        for number, edit in enumerate(edits):
            if edit.content is not None:
                session.stage(number, [edit.content])
        return session.apply([])

    def push(self, session: AgentSession, edits: Iterable[Edit], identity: str = "first") -> Dropped:
        """A whole transaction; the bytecode dropped."""
        edits = list(edits)
        applied = self.apply(session, edits, identity)
        session.write_record(json.dumps({"id": identity}))
        session.record()
        self.note(edits, applied)
        return applied.dropped

    def push_revert(self, session: AgentSession) -> None:
        self.apply(session, self.revert(), "revert")
        session.write_record(None)
        session.record()
        self.originals.clear()
        self.directories.clear()

    def note(self, edits: Iterable[Edit], applied: Applied) -> None:
        """Keeps the account of a transaction that succeeded."""
        self.directories.extend(applied.made)
        for edit in edits:
            path = str(edit.operation.destination)
            original = self.originals.setdefault(path, edit.operation.before)
            if original == edit.operation.after:
                del self.originals[path]


def _entry(path: bytes, times: bool) -> Entry:
    status = os.lstat(path)
    content = ""
    if stat.S_ISLNK(status.st_mode):
        content = "-> " + os.fsdecode(os.readlink(path))
    elif stat.S_ISREG(status.st_mode):
        content = digest(Path(os.fsdecode(path)).read_bytes())
    shown = status.st_mtime_ns if times and stat.S_ISREG(status.st_mode) else None
    return Entry(status.st_mode, status.st_uid, status.st_gid, content, shown)


def is_running(pid: int) -> bool:
    """Whether a process is there, and does not only wait for its parent to take notice of its end."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
