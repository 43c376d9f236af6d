"""What the worktree holds, compared with HEAD by bytes."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NewType

from msgspec import Struct

from overlaysync.model.problem import Problem

RepoPath = NewType("RepoPath", str)
"""A path in the repository: ``/`` separated, relative to its root, undecodable bytes as surrogates."""

ObjectId = NewType("ObjectId", str)
"""A full git object id: 40 (sha1) or 64 (sha256) lower-case hex digits."""

Sha256 = NewType("Sha256", str)
"""The digest of record: 64 lower-case hex digits over a file's bytes."""

MODE_FILE, MODE_EXECUTABLE, MODE_LINK, MODE_SUBMODULE = 0o100644, 0o100755, 0o120000, 0o160000


class TreeEntry(Struct, frozen=True):
    """One path of a commit's tree (``git ls-tree``)."""

    mode: int
    oid: ObjectId

    @property
    def is_file(self) -> bool:
        return self.mode in (MODE_FILE, MODE_EXECUTABLE)


class ChangeKind(str, enum.Enum):
    """How a path differs from HEAD. A rename is a removal and an addition."""

    ADDED = "added"
    MODIFIED = "modified"
    REMOVED = "removed"
    RETYPED = "retyped"  # file, link, directory or submodule became another of these


class Content(Struct, frozen=True):
    """A regular file's content, in the form in which it would be committed and is copied.

    ``canonical_newlines``: the checkout holds CRLF where HEAD's blob holds only LF; digests and size are of
    the LF form.
    """

    sha256: Sha256
    blob: ObjectId
    size: int
    canonical_newlines: bool = False


class Change(Struct, frozen=True):
    """One path of the worktree that differs from HEAD.

    ``head`` is None for an added path; ``content`` is None where the worktree holds no regular file.
    ``note`` explains what is particular (a submodule's two ids, a link's two targets).
    """

    path: RepoPath
    kind: ChangeKind
    head: TreeEntry | None = None
    content: Content | None = None
    executable: bool = False
    note: str | None = None


class IgnoredFile(Struct, frozen=True):
    """An untracked ``.py`` file that an ignore rule keeps out of the difference.

    ``by_user``: the rule is the user's own, which keeps it out of commits only, not out of the difference.
    """

    path: RepoPath
    rule: str  # "<file>:<line>:<pattern>" as git check-ignore -v names it
    by_user: bool = False


class Ported(Struct, frozen=True):
    """What a linked worktree that ``port`` made carries: the state of a development worktree or branch.

    ``head``: the development's commit; ``state``: that with its uncommitted changes, which no branch names.
    """

    root: str
    branch: str | None
    head: ObjectId
    state: ObjectId
    merge_base: ObjectId
    image_commit: ObjectId


class Repository(Struct, frozen=True):
    """Where the worktree comes from. ``remote`` has no credentials in it.

    ``ported``: whose state it carries, where it is a worktree that ``port`` made. ``machine``: the name
    of the one that ``root`` is on; None where the record is older than this field.
    """

    root: str
    head: ObjectId
    branch: str | None
    remote: str | None
    object_format: str  # "sha1" or "sha256"
    shallow: bool
    ported: Ported | None = None
    machine: str | None = None


class Snapshot(Struct, frozen=True):
    """The worktree at one moment: HEAD's tree and everything that differs from it.

    ``problems`` hold what could not be read as a plain difference (unreadable, unstable, LFS, filtered).
    """

    repository: Repository
    tree: Mapping[RepoPath, TreeEntry]
    changes: tuple[Change, ...]
    ignored: tuple[IgnoredFile, ...] = ()
    hidden: tuple[RepoPath, ...] = ()  # tracked paths with skip-worktree or assume-unchanged set
    not_checked_out: tuple[RepoPath, ...] = ()  # absent by a skip-worktree flag, as in a sparse checkout
    mode_only: tuple[RepoPath, ...] = ()  # only the executable bit differs: never synced, reported
    problems: tuple[Problem, ...] = ()
