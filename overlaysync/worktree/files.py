"""Reads files below a worktree's root without ever following a link or opening what is no regular file."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from types import TracebackType

from overlaysync.worktree.git import encode

PIECE = 1024 * 1024
"""A large file is read in pieces of this size, so that it never is in memory as a whole."""

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a FIFO that took the file's place since lstat must not wait for a writer.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_MOVED = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO)  # the last two: now a link, now a socket


class MovingFileError(Exception):
    """A file vanished, changed its type or changed its content while it was read."""


class UnsafeNameError(Exception):
    """A path would leave the worktree, or enter a git directory. git checks no such path out."""


class BehindLinkError(Exception):
    """A directory of a path is a symbolic link (``link``), so nothing behind it is the path's file."""

    def __init__(self, link: str) -> None:
        super().__init__(link)
        self.link = link


class Folders:
    """Directory handles below a root. Paths should come sorted: only the handles to the last one are kept."""

    def __init__(self, root: str) -> None:
        self._open = [("", os.open(encode(root), _FOLDER_FLAGS))]

    def enter(self, directory: str) -> int:
        """A handle for a directory (``""`` is the root), reached through real directories only.

        Raises:
            BehindLinkError: it, or a directory above it, is a symbolic link.
            UnsafeNameError: a tree made by hand can hold "..", which is no link and still leads out.
            OSError: it is missing, no directory, or closed to us.
        """
        while self._open[-1][0] != directory:
            base, handle = self._open[-1]
            if not base or directory.startswith(base + "/"):
                rest = directory[len(base) + 1 :] if base else directory
                self._descend(base, handle, rest.split("/", 1)[0])
            else:
                os.close(self._open.pop()[1])
        return self._open[-1][1]

    def _descend(self, base: str, handle: int, name: str) -> None:
        if name in ("", ".", "..") or name.lower() == ".git":
            raise UnsafeNameError(name)
        path = f"{base}/{name}" if base else name
        try:
            self._open.append((path, os.open(encode(name), _FOLDER_FLAGS, dir_fd=handle)))
        except OSError:
            if stat.S_ISLNK(os.stat(encode(name), dir_fd=handle, follow_symlinks=False).st_mode):
                raise BehindLinkError(path) from None
            raise

    def __enter__(self) -> Folders:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._open:
            os.close(self._open.pop()[1])


class OpenFile:
    """A regular file held open while it is read, possibly more than once, and shown to have stood still.

    Raises:
        MovingFileError: it vanished or is no regular file any more.
        OSError: it cannot be opened.
    """

    def __init__(self, folder: int, name: bytes) -> None:
        try:
            self._handle = os.open(name, _FILE_FLAGS, dir_fd=folder)
        except OSError as error:
            if error.errno in _MOVED:
                raise MovingFileError("it vanished or became another type while it was read") from None
            raise
        self.status = os.fstat(self._handle)
        if not stat.S_ISREG(self.status.st_mode):
            os.close(self._handle)
            raise MovingFileError("it became another type while it was read")

    @property
    def size(self) -> int:
        return self.status.st_size

    def pieces(self, length: int = PIECE) -> Iterator[bytes]:
        """The content from its beginning, as many bytes as the size says.

        Raises:
            MovingFileError: there are more or fewer bytes.
        """
        os.lseek(self._handle, 0, os.SEEK_SET)
        missing = self.size
        while piece := os.read(self._handle, min(missing + 1, length)):
            missing -= len(piece)
            if missing < 0:
                break
            yield piece
        if missing:
            raise MovingFileError("its size changed while it was read")

    def stood_still(self) -> None:
        """Raises MovingFileError unless the file is, by its status, what it was when it was opened."""
        if _identity(os.fstat(self._handle)) != _identity(self.status):
            raise MovingFileError("it changed while it was read")

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._handle)


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
