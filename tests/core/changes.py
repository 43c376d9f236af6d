"""Words for building changes and for reading what they were judged to be."""

from __future__ import annotations

import textwrap

from overlaysync.core.classify import classify
from overlaysync.model.classified import ClassifiedChange
from overlaysync.model.worktree import (
    MODE_FILE,
    Change,
    ChangeKind,
    Content,
    ObjectId,
    RepoPath,
    Sha256,
    TreeEntry,
)

Text = str | bytes | None

OLD, NEW = ObjectId("1" * 40), ObjectId("2" * 40)


def entry(mode: int = MODE_FILE) -> TreeEntry:
    return TreeEntry(mode, OLD)


def content() -> Content:
    return Content(Sha256("a" * 64), NEW, 1)


def change(path: str, kind: ChangeKind = ChangeKind.MODIFIED, note: str | None = None) -> Change:
    """A difference of regular files."""
    head = None if kind is ChangeKind.ADDED else entry()
    after = None if kind is ChangeKind.REMOVED else content()
    return Change(RepoPath(path), kind, head, after, note=note)


def judged(path: str, before: Text = None, after: Text = None) -> ClassifiedChange:
    """One path from one content to another; without contents a modification whose bytes are not asked for."""
    kinds = {(True, False): ChangeKind.ADDED, (False, True): ChangeKind.REMOVED}
    kind = kinds.get((before is None, after is None), ChangeKind.MODIFIED)
    return classify(change(path, kind), as_bytes(before), as_bytes(after))


def as_bytes(text: Text) -> bytes | None:
    """Source text of a test, without the indentation that it has there."""
    return textwrap.dedent(text).encode() if isinstance(text, str) else text


def codes(classified: ClassifiedChange) -> list[str]:
    return [problem.code for problem in classified.problems]


def said(classified: ClassifiedChange) -> str:
    """The messages of all problems."""
    return "; ".join(problem.message for problem in classified.problems)
