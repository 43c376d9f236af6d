"""The worktree as the rest of the tool sees it: a repository, its difference to HEAD, content by bytes."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from overlaysync.errors import BaselineError, UsageError, WorktreeChangedError
from overlaysync.model.ahead import Ahead
from overlaysync.model.worktree import (
    Change,
    Content,
    ObjectId,
    RepoPath,
    Repository,
    Sha256,
    Snapshot,
    TreeEntry,
)
from overlaysync.worktree import lfs
from overlaysync.worktree.cache import StatCache, cache_file, digest_size
from overlaysync.worktree.capture import Capture
from overlaysync.worktree.files import BehindLinkError, Folders, MovingFileError, OpenFile
from overlaysync.worktree.git import Git, Pending, decode, encode
from overlaysync.worktree.ignored import ignored_by_user, ignored_files, list_ignored
from overlaysync.worktree.look import Listings, Subject, begin_listings, look, read_tree
from overlaysync.worktree.newlines import to_line_feeds
from overlaysync.worktree.objects import Objects, is_full_id
from overlaysync.worktree.recent_blobs import RecentBlobs
from overlaysync.worktree.repository import (
    begin_remotes,
    describe,
    head_commit,
    locate,
    refuse_unfinished,
    refuse_unmerged,
)

_TRIES = 5  # to capture a worktree that is written to meanwhile
_FEW = 32  # blobs of source are read in less time than another git takes to start; a large one is read whole
_STREAM_PIECE = 256 * 1024 - 1  # a CR held back from the piece before may come on top


def open_worktree(
    directory: Path,
    cache_dir: Path | None = None,
    *,
    capture: bool = False,
    unfinished: bool = False,
    begin: bool = False,
    recent: RecentBlobs | None = None,
) -> Worktree:
    """Open the checkout that holds a directory.

    Args:
        directory: the checkout's root or a directory below it.
        cache_dir: where to keep what files hashed to, so that unchanged ones are not read again.
        capture: copy what is changed when it is looked at, so that later writing does not matter.
        unfinished: open it also in the middle of a merge or the like, for its objects.
        begin: the first snapshot at once, while the caller waits for a target and asks for nothing else.
        recent: what an earlier one read of the same repository.

    Raises:
        UsageError: no git repository, a bare one, a git directory, a checkout elsewhere, or no git.
        BaselineError: no commit yet, an unfinished merge or the like, or git refuses.
    """
    if not directory.is_dir():
        raise UsageError(f"{str(directory)!r} is not a directory", "name a checkout with -C DIR")
    path = decode(os.fsencode(directory.absolute()))
    # Where this is the root, as it mostly is, git need not be asked for that first.
    listings = begin_all(Git(path)) if begin and os.path.lexists(encode(f"{path}/.git")) else None
    remotes = begin_remotes(path)
    located = locate(path)
    git = Git(located.root)
    repository = describe(located, remotes)
    if not unfinished:
        refuse_unfinished(located)
    file = cache_file(cache_dir, "worktree", located.root) if cache_dir else None
    objects = Objects(git, repository.object_format, recent)
    worktree = Worktree(repository, git, objects, file, Capture() if capture else None)
    if begin:
        worktree.begin_snapshot(listings if located.root == path else None)
    return worktree


AllListings = tuple[Listings, Pending]
"""Those of a look, and what is ignored."""


def begin_all(git: Git) -> AllListings:
    return begin_listings(git), list_ignored(git)


class Worktree:
    """A checkout at the commit that HEAD named when it was opened. Nothing is ever written to it."""

    def __init__(
        self,
        repository: Repository,
        git: Git,
        objects: Objects,
        cache: Path | None,
        capture: Capture | None = None,
    ) -> None:
        self.repository = repository
        self._git = git
        self._objects = objects
        self._cache = StatCache(cache, digest_size(repository.object_format))
        self._capture = capture
        self._ahead: Ahead[Snapshot] | None = None

    def begin_snapshot(self, listings: AllListings | None) -> None:
        """Begins the next snapshot; ``listings``: what was begun for it already."""
        self._ahead = Ahead(lambda: self._take_snapshot(listings))

    def snapshot(self) -> Snapshot:
        """HEAD's tree, and everything on disk that differs from it by bytes.

        Raises:
            BaselineError: the index holds unmerged paths, git refuses, or an object is missing.
        """
        ahead, self._ahead = self._ahead, None
        return self._take_snapshot() if ahead is None else ahead.result()

    def _take_snapshot(self, listings: AllListings | None = None) -> Snapshot:
        if self._capture is None:
            return self._look(listings)
        for number in range(_TRIES):
            snapshot = self._look(None if number else listings)
            if self._is_captured(snapshot, self._capture):
                return snapshot
        self._capture.clear()  # else a part of it would be of another moment, and unchecked
        return snapshot

    def _is_captured(self, snapshot: Snapshot, capture: Capture) -> bool:
        """Whether all changes could be copied as they were seen."""
        capture.clear()
        try:
            for change in snapshot.changes:
                if change.content is not None:
                    capture.keep(change.path, self.stream(change))
        except WorktreeChangedError:
            return False
        return True

    def _look(self, listings: AllListings | None) -> Snapshot:
        repository = self.repository
        tracked, ignored = listings or begin_all(self._git)
        subject = Subject(self._git, self._objects, repository.object_format, repository.head, self._cache)
        seen = look(subject, tracked)
        refuse_unmerged(repository.root, seen.index.unmerged)
        self._cache.save()
        flagged = seen.index.skip_worktree | seen.index.assume_unchanged
        return Snapshot(
            repository=repository,
            tree=seen.tree,
            changes=seen.changes,
            ignored=(
                *ignored_files(self._git, ignored.answer()),
                *ignored_by_user(self._git, [item.path for item in seen.changes if item.head is None]),
            ),
            hidden=tuple(sorted(flagged)),
            not_checked_out=seen.not_checked_out,
            mode_only=seen.mode_only,
            problems=seen.problems,
        )

    def blob(self, oid: ObjectId) -> bytes:
        """A blob's bytes, by full id. Raises BaselineError where the repository does not hold it."""
        return self._objects.blob(oid)

    def pointed(self, oids: Iterable[ObjectId]) -> dict[ObjectId, Sha256]:
        """Of those blobs that are Git LFS pointers, the digest of the data that each names.

        A blob that a partial clone lacks is not asked of anybody, and is none.
        """
        asked = list(oids)
        small = asked if len(asked) <= _FEW else self._small(asked)
        found = ((oid, self._pointed(oid)) for oid in small)
        return {oid: sha256 for oid, sha256 in found if sha256 is not None}

    def _pointed(self, oid: ObjectId) -> Sha256 | None:
        with contextlib.suppress(BaselineError):
            facts = self._objects.facts(oid)
            return lfs.pointed(facts.start) if facts.size < lfs.MAXIMUM_SIZE else None
        return None

    def _small(self, oids: Sequence[ObjectId]) -> list[ObjectId]:
        """Those that may be pointers by their size."""
        given = "".join(f"{oid}\n" for oid in oids).encode()
        try:
            answer = self._git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", given=given)
        except BaselineError:
            return []  # older gits end where they may not fetch
        there = (line.split() for line in answer.text.splitlines())
        return [ObjectId(oid) for oid, size in there if size != "missing" and int(size) < lfs.MAXIMUM_SIZE]

    def content(self, change: Change) -> bytes:
        """The bytes of a change as ``stream`` gives them, checked before any is handed out."""
        return b"".join(self.stream(change))

    def stream(self, change: Change) -> Iterator[bytes]:
        """A changed file's bytes in canonical form, in pieces of at most 256 KiB.

        The digest is known only at the end, so nothing taken may be used before the iteration ended well.

        Raises:
            WorktreeChangedError: the file is not what the snapshot saw.
            ValueError: the change has no content.
        """
        if change.content is None:
            raise ValueError(f"{change.path!r} is no regular file in the worktree")
        if self._capture is not None and change.path in self._capture:
            yield from self._capture.pieces(change.path)
            return
        try:
            yield from self._checked(change.path, change.content)
        except (OSError, BehindLinkError, MovingFileError) as error:
            raise _changed(change.path) from error

    def _checked(self, path: RepoPath, content: Content) -> Iterator[bytes]:
        directory, _, name = path.rpartition("/")
        digest, left = hashlib.sha256(), content.size
        with (
            Folders(self.repository.root) as folders,
            OpenFile(folders.enter(directory), encode(name)) as file,
        ):
            pieces = file.pieces(_STREAM_PIECE)
            for piece in to_line_feeds(pieces) if content.canonical_newlines else pieces:
                digest.update(piece)
                left -= len(piece)
                if left < 0:
                    raise _changed(path)
                yield piece
        if digest.hexdigest() != content.sha256:
            raise _changed(path)

    def has_commit(self, oid: str) -> bool:
        """Whether the repository holds this commit: a full id, never a prefix, tag or branch.

        In a shallow clone (``repository.shallow``) a commit that is absent may well exist upstream.
        """
        if not is_full_id(oid, self.repository.object_format):
            return False
        if oid == self.repository.head:
            return True
        answer = self._git.run("cat-file", "--batch-check=%(objecttype)", given=f"{oid}\n".encode())
        return answer.text == "commit\n"

    def tree(self, commit: ObjectId) -> Mapping[RepoPath, TreeEntry]:
        """The tree of a commit, by path. Raises BaselineError where the repository does not hold it."""
        if not self.has_commit(commit):
            raise BaselineError(
                f"the repository does not hold the commit {commit}",
                f"get it with 'git fetch {'--unshallow' if self.repository.shallow else '--all'}', or "
                f"'git fetch REMOTE {commit}' where no branch has it",
            )
        return read_tree(self._git.directory, commit)

    def objects_below(self, tree: ObjectId) -> Mapping[RepoPath, TreeEntry]:
        """A tree by path. Raises BaselineError where the repository does not hold it."""
        return read_tree(self._git.directory, tree)

    def moved(self) -> bool:
        """Whether HEAD names another commit than when the worktree was opened."""
        return head_commit(self._git) != self.repository.head

    def end_git(self) -> None:
        """Ends the process that serves blobs, a forked child's own or the parent's; it may begin again."""
        self._objects.close()

    def close(self) -> None:
        """End the git process that serves blobs, and forget what was captured."""
        if self._ahead is not None:
            self._ahead.wait()
        self.end_git()
        if self._capture is not None:
            self._capture.close()

    def __enter__(self) -> Worktree:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _changed(path: RepoPath) -> WorktreeChangedError:
    return WorktreeChangedError(
        f"{path!r} vanished or changed after it was looked at; nothing of it was installed",
        "let the editor or tool that writes it come to rest, then run this again",
    )
