"""Words for building a commit's tree and what a target holds of it; contents are given as text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from overlaysync.core.planning import Desired
from overlaysync.model.classified import ChangeClass
from overlaysync.model.plan import Placement
from overlaysync.model.target import FileKind, InstalledFile, InstalledPath
from overlaysync.model.worktree import MODE_FILE, ObjectId, RepoPath, Sha256, TreeEntry

Files = dict[str, str]
"""Contents by path."""


def blob(text: str) -> ObjectId:
    """Git's object id of the content."""
    content = text.encode()
    return ObjectId(hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest())


def sha256(text: str) -> Sha256:
    return Sha256(hashlib.sha256(text.encode()).hexdigest())


def tree(files: Files, mode: int = MODE_FILE) -> dict[RepoPath, TreeEntry]:
    return {RepoPath(path): TreeEntry(mode, blob(text)) for path, text in files.items()}


def installed(path: str, text: str | None, *, recorded: str | None = None) -> InstalledFile:
    """One file of RECORD (``text`` None: it is gone); ``recorded`` is the content that was installed."""
    known = text if recorded is None else recorded
    record = sha256(known) if known is not None else None
    if text is None:
        return InstalledFile(InstalledPath(path), FileKind.MISSING, recorded=True, record_sha256=record)
    return InstalledFile(
        InstalledPath(path),
        FileKind.FILE,
        recorded=True,
        record_sha256=record,
        size=len(text.encode()),
        sha256=sha256(text),
        blob=blob(text),
    )


def wheel(files: Files) -> list[InstalledFile]:
    """A distribution as it was installed."""
    return [installed(path, text) for path, text in files.items()]


def found(files: Files, paths: Iterable[str]) -> dict[InstalledPath, InstalledFile]:
    """What stands at some paths of a target."""
    return {InstalledPath(path): installed(path, files.get(path)) for path in paths}


def placement(source: str, destination: str, original: str | None, put: str | None) -> Placement:
    """What a manifest says was put there, in place of which content."""
    return Placement(
        RepoPath(source),
        InstalledPath(destination),
        ChangeClass.PYTHON,
        original_sha256=sha256(original) if original is not None else None,
        installed_sha256=sha256(put) if put is not None else None,
    )


def desired(source: str, destination: str, head: str | None, content: str | None) -> Desired:
    """A change from HEAD's content to the worktree's."""
    kinds = {(True, False): "added", (False, True): "removed"}
    return Desired(
        source=RepoPath(source),
        destination=InstalledPath(destination),
        change_class=ChangeClass.PYTHON,
        cause=kinds.get((head is None, content is None), "modified"),
        head=blob(head) if head is not None else None,
        sha256=sha256(content) if content is not None else None,
        blob=blob(content) if content is not None else None,
        size=len(content) if content is not None else 0,
    )
