"""Compares HEAD's tree with the files on disk, by bytes. The index's word on content is never taken."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from overlaysync.agent.stamp import stamp_of
from overlaysync.model.problem import Problem
from overlaysync.model.worktree import (
    MODE_EXECUTABLE,
    MODE_LINK,
    MODE_SUBMODULE,
    Change,
    ChangeKind,
    Content,
    ObjectId,
    RepoPath,
    TreeEntry,
)
from overlaysync.worktree import digests, lfs
from overlaysync.worktree.cache import StatCache
from overlaysync.worktree.files import BehindLinkError, Folders, MovingFileError, OpenFile, UnsafeNameError
from overlaysync.worktree.git import decode, encode
from overlaysync.worktree.newlines import to_line_feeds
from overlaysync.worktree.objects import Objects

_TYPE_AND_EXECUTABLE = 0o170100
_MISSING = (errno.ENOENT, errno.ENOTDIR)


class Place(NamedTuple):
    """A path that is there: the handle of its directory, its name in it, and its status."""

    folder: int
    name: bytes
    status: os.stat_result


class Comparison:
    """One look at the files of one repository; the results are its attributes.

    ``prefix`` is where the repository lies in the outermost one, for the cache's keys. ``gitlinks``: those of
    the index.
    """

    def __init__(
        self,
        folders: Folders,
        objects: Objects,
        object_format: str,
        cache: StatCache,
        prefix: str,
        gitlinks: Mapping[RepoPath, ObjectId],
    ) -> None:
        self._folders = folders
        self._objects = objects
        self._object_format = object_format
        self._cache = cache
        self._prefix = prefix
        self._gitlinks = gitlinks
        self.changes: list[Change] = []
        self.mode_only: list[RepoPath] = []
        self.not_checked_out: list[RepoPath] = []
        self.problems: list[Problem] = []
        self.pointers: set[RepoPath] = set()  # changed paths with a Git LFS pointer on either side
        self.submodules: list[tuple[RepoPath, TreeEntry]] = []  # those that are checked out

    def tracked(self, tree: Mapping[RepoPath, TreeEntry], skip_worktree: frozenset[RepoPath]) -> None:
        """Look at every path of HEAD. A path that is absent and flagged skip-worktree is not checked out."""
        for path, entry in self._not_known(tree):
            try:
                place = self._find(path)
                if place is not None:
                    self._tracked_path(path, entry, place)
                elif path in skip_worktree:
                    self.not_checked_out.append(path)
                else:
                    self._removed(path, entry)
            except BehindLinkError as error:
                if path not in skip_worktree:
                    note = f"its directory {error.link!r} is a symbolic link now; nothing was read through it"
                    self.changes.append(Change(path, ChangeKind.RETYPED, head=entry, note=note))
            except (MovingFileError, UnsafeNameError, OSError) as error:
                self.problems.append(_problem(path, error))

    def new(self, paths: Iterable[RepoPath]) -> None:
        """Look at paths that HEAD does not have: untracked, staged, intent-to-add. Absent ones are none."""
        for path in paths:
            try:
                place = self._find(path)
                if place is not None:
                    self._new_path(path, place)
            except BehindLinkError:
                continue  # it is not there; the link itself is a path of its own
            except (MovingFileError, UnsafeNameError, OSError) as error:
                self.problems.append(_problem(path, error))

    def _find(self, path: RepoPath) -> Place | None:
        directory, _, name = path.rpartition("/")
        raw = encode(name)
        try:
            folder = self._folders.enter(directory)
            return Place(folder, raw, os.stat(raw, dir_fd=folder, follow_symlinks=False))
        except OSError as error:
            if error.errno in _MISSING:
                return None
            raise

    def _not_known(self, tree: Mapping[RepoPath, TreeEntry]) -> Iterator[tuple[RepoPath, TreeEntry]]:
        """Paths whose type, executable bit or content is not HEAD's, or not known by the cache to be so.

        Few are left. That of the others takes up most of a look, so nothing is done twice for them.
        """
        recall, prefix = self._cache.recall, self._prefix
        for directory, items in groupby(tree.items(), lambda item: item[0].rpartition("/")[0]):
            start, left = len(directory) + 1 if directory else 0, []
            try:
                folder = self._folders.enter(directory)
            except (OSError, BehindLinkError, UnsafeNameError):
                yield from items
                continue
            for path, entry in items:
                try:
                    status = os.stat(encode(path[start:]), dir_fd=folder, follow_symlinks=False)
                except OSError:
                    left.append((path, entry))
                    continue
                same_mode = not (status.st_mode ^ entry.mode) & _TYPE_AND_EXECUTABLE
                known = recall(prefix + path, stamp_of(status)) if same_mode else None
                if known is None or known.hex() != entry.oid:
                    left.append((path, entry))
            yield from left

    def _recall(self, path: RepoPath, status: os.stat_result) -> ObjectId | None:
        blob = self._cache.recall(self._prefix + path, stamp_of(status))
        return None if blob is None else ObjectId(blob.hex())

    def _remember(self, path: RepoPath, status: os.stat_result, blob: ObjectId, started: int) -> None:
        self._cache.remember(self._prefix + path, stamp_of(status), bytes.fromhex(blob), started)

    def _tracked_path(self, path: RepoPath, entry: TreeEntry, place: Place) -> None:
        mode = place.status.st_mode
        if entry.is_file and stat.S_ISREG(mode):
            self._tracked_file(path, entry, place)
        elif entry.mode == MODE_LINK and stat.S_ISLNK(mode):
            self._tracked_link(path, entry, place)
        elif entry.mode == MODE_SUBMODULE and stat.S_ISDIR(mode):
            self._tracked_submodule(path, entry)
        else:
            content = self._read(path, place).content if stat.S_ISREG(mode) else None
            note = f"was a {_TREE_TYPES.get(entry.mode, 'regular file')}, is a {_disk_type(mode)} now"
            change = Change(path, ChangeKind.RETYPED, entry, content, _executable(place), note)
            self.changes.append(change)

    def _tracked_submodule(self, path: RepoPath, entry: TreeEntry) -> None:
        """One that is not checked out is an empty directory, of which the index tells the commit.

        Other files there are of no known commit.
        """
        if self._find(RepoPath(f"{path}/.git")) is not None:
            self.submodules.append((path, entry))
            return
        with os.scandir(self._folders.enter(path)) as entries:
            names = {item.name for item in entries} - {"__pycache__"}
        if names:
            note = f"gitlink {entry.oid}, not checked out, and files stand in its place"
        elif (staged := self._gitlinks.get(path, entry.oid)) != entry.oid:
            note = f"gitlink {entry.oid}, not checked out, and {staged} in the index"
        else:
            return
        self.changes.append(Change(path, ChangeKind.MODIFIED, head=entry, note=note))

    def _tracked_file(self, path: RepoPath, entry: TreeEntry, place: Place) -> None:
        blob = self._recall(path, place.status) or self._hash(path, place)
        content = None if blob == entry.oid else self._changed_content(path, entry, place)
        executable = _executable(place)
        if content is not None:
            self.changes.append(Change(path, ChangeKind.MODIFIED, entry, content, executable))
        elif executable != (entry.mode == MODE_EXECUTABLE):
            self.mode_only.append(path)

    def _hash(self, path: RepoPath, place: Place) -> ObjectId:
        with OpenFile(place.folder, place.name) as file:
            started = time.time_ns()
            blob = digests.blob_id(file.pieces(), file.size, self._object_format)
            file.stood_still()
        self._remember(path, file.status, blob, started)
        return blob

    def _changed_content(self, path: RepoPath, entry: TreeEntry, place: Place) -> Content | None:
        """The content of a file whose bytes are not HEAD's, or None where it stands for the same blob."""
        started = time.time_ns()
        facts = self._objects.facts(entry.oid)
        with OpenFile(place.folder, place.name) as file:
            reading = digests.read(file.pieces(), file.size, self._object_format)
            if reading.line_ends.all_crlf and not facts.has_carriage_return:
                reading = digests.read(
                    to_line_feeds(file.pieces()),
                    file.size - reading.line_ends.crlf,
                    self._object_format,
                    canonical_newlines=True,
                )
            file.stood_still()
        if reading.content.blob == entry.oid or lfs.points_to(facts.start, reading.content):
            self._remember(path, file.status, entry.oid, started)
            return None
        self._note_pointer(path, reading.start, facts.start)
        return reading.content

    def _read(self, path: RepoPath, place: Place) -> digests.Reading:
        with OpenFile(place.folder, place.name) as file:
            reading = digests.read(file.pieces(), file.size, self._object_format)
            file.stood_still()
        self._note_pointer(path, reading.start)
        return reading

    def _note_pointer(self, path: RepoPath, *starts: bytes) -> None:
        if any(map(lfs.is_pointer, starts)):
            self.pointers.add(path)

    def _tracked_link(self, path: RepoPath, entry: TreeEntry, place: Place) -> None:
        target = os.readlink(place.name, dir_fd=place.folder)
        if digests.blob_id([target], len(target), self._object_format) != entry.oid:
            note = f"the link's target was {self._head_target(entry)}, is {decode(target)!r} now"
            self.changes.append(Change(path, ChangeKind.MODIFIED, head=entry, note=note))

    def _head_target(self, entry: TreeEntry) -> str:
        return repr(decode(self._objects.facts(entry.oid).start))

    def _removed(self, path: RepoPath, entry: TreeEntry) -> None:
        note = None
        if entry.mode == MODE_LINK:
            note = f"the link's target was {self._head_target(entry)}"
        elif entry.is_file:
            self._note_pointer(path, self._objects.facts(entry.oid).start)
        self.changes.append(Change(path, ChangeKind.REMOVED, head=entry, note=note))

    def _new_path(self, path: RepoPath, place: Place) -> None:
        mode = place.status.st_mode
        if stat.S_ISREG(mode):
            content = self._read(path, place).content
            self.changes.append(Change(path, ChangeKind.ADDED, None, content, _executable(place)))
            return
        note = f"is a {_disk_type(mode)}"
        if stat.S_ISLNK(mode):
            note = f"is a symbolic link to {decode(os.readlink(place.name, dir_fd=place.folder))!r}"
        elif stat.S_ISDIR(mode):
            if self._find(RepoPath(f"{path}/.git")) is None and path not in self._gitlinks:
                return  # a staged file gave way to a directory, whose files are listed themselves
            note = "is a submodule that HEAD does not have"
        self.changes.append(Change(path, ChangeKind.ADDED, note=note))


_TREE_TYPES = {MODE_LINK: "symbolic link", MODE_SUBMODULE: "submodule"}
_DISK_TYPES = {
    stat.S_IFREG: "regular file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "symbolic link",
    stat.S_IFIFO: "FIFO",
    stat.S_IFSOCK: "socket",
}


def _disk_type(mode: int) -> str:
    return _DISK_TYPES.get(stat.S_IFMT(mode), "device")


def _executable(place: Place) -> bool:
    """git's own test of the one mode bit that it keeps."""
    return stat.S_ISREG(place.status.st_mode) and bool(place.status.st_mode & stat.S_IXUSR)


def _problem(path: RepoPath, error: MovingFileError | UnsafeNameError | OSError) -> Problem:
    if isinstance(error, MovingFileError):
        return Problem(
            "unstable-file",
            f"{path!r} cannot be taken as it is: {error}",
            "wait until whatever writes it is done, then run this again",
            path,
        )
    if isinstance(error, UnsafeNameError):
        return Problem(
            "unsafe-name",
            f"HEAD holds {path!r}, which git itself would not check out; it was not looked at",
            "see what 'git fsck' says; do not trust this repository",
            path,
        )
    return Problem(
        "unreadable-file",
        f"{path!r} cannot be read: {error.strerror}",
        "make the file and its directories readable for you, then run this again",
        path,
    )
