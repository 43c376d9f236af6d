"""The state of a worktree, committed or not, as one commit that no branch names."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from overlaysync.errors import BaselineError
from overlaysync.model.worktree import (
    MODE_EXECUTABLE,
    MODE_FILE,
    MODE_LINK,
    MODE_SUBMODULE,
    Change,
    ChangeKind,
    ObjectId,
    Snapshot,
)
from overlaysync.worktree.git import Git, encode
from overlaysync.worktree.worktree import Worktree

IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "overlaysync"), ("EMAIL", "overlaysync"), ("DATE", "@0 +0000"))
}
"""Equal states are equal commits."""


def commit_state(git: Git, worktree: Worktree, snapshot: Snapshot) -> ObjectId:
    """Writes the state of a snapshot into git's objects; neither index nor files are touched.

    Raises:
        BaselineError: a change is of a kind that cannot be carried (a submodule's commit or files).
        WorktreeChangedError: a file is not what the snapshot saw.
    """
    head = snapshot.repository.head
    if not snapshot.changes:
        return head
    with tempfile.TemporaryDirectory(prefix="overlaysync-") as directory:
        git = git.with_variables({**IDENTITY, "GIT_INDEX_FILE": str(Path(directory, "index"))})
        git.run("read-tree", head)
        rows = b"".join(_rows(git, worktree, snapshot.changes))
        git.run("update-index", "-z", "--index-info", given=rows)
        tree = git.run("write-tree").text.strip()
        answer = git.run("commit-tree", tree, "-p", head, "-m", "State of a worktree, for overlaysync port")
        return ObjectId(answer.text.strip())


def _rows(git: Git, worktree: Worktree, changes: Sequence[Change]) -> Iterator[bytes]:
    """Lines of ``git update-index --index-info``: mode 0 removes a path."""
    for change in changes:
        mode, oid = _entry(git, worktree, change)
        yield b"%06o %s\t%s\0" % (mode, oid.encode(), encode(change.path))


def _entry(git: Git, worktree: Worktree, change: Change) -> tuple[int, str]:
    place = Path(os.fsdecode(encode(f"{worktree.repository.root}/{change.path}")))
    if change.content is not None:
        content = b"".join(worktree.stream(change))
        mode = MODE_EXECUTABLE if change.executable else MODE_FILE
    elif place.is_symlink():
        content, mode = os.fsencode(place.readlink()), MODE_LINK
    elif change.kind is ChangeKind.REMOVED or not os.path.lexists(place):
        return 0, "0" * len(worktree.repository.head)
    else:
        kind = "a submodule" if change.head and change.head.mode == MODE_SUBMODULE else "no regular file"
        raise BaselineError(
            f"{change.path!r} is {kind} and differs from HEAD, which cannot be carried"
            + (f" ({change.note})" if change.note else ""),
            "commit it, or put it back",
        )
    return mode, git.run("hash-object", "-w", "--stdin", given=content).text.strip()
