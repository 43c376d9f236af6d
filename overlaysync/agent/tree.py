"""The install root through directory handles: nothing above a path is ever followed by name.

Every path is relative to the root; every component is opened with O_NOFOLLOW from the handle of its parent,
so that a link planted anywhere between root and file is seen, even one that is swapped in while we look.
"""

from __future__ import annotations

import collections
import errno
import functools
import hashlib
import os
import stat

from overlaysync.agent.failure import Failure, reason

DEPTH = 100  # components of a path
OPEN_DIRECTORIES = 4 * DEPTH  # more than two paths need, so a handle in use is never the oldest
PIECE = 1024 * 1024
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
HALF_MADE = 0o700  # mode of a directory of ours until it has its owner and, last, its own mode


class LinkInTheWay(OSError):
    """A component of the path is a symbolic link or no directory."""


class Tree:
    """The files below one directory. ``root`` must be a real path."""

    def __init__(self, root: bytes) -> None:
        self.root = root
        try:
            self.handle = os.open(root, DIRECTORY)
        except OSError as error:
            raise Failure(
                "root", "the install root %s cannot be opened: %s" % (os.fsdecode(root), reason(error))
            )
        self._open: collections.OrderedDict[bytes, int] = collections.OrderedDict()

    def close(self) -> None:
        self.forget_all()
        os.close(self.handle)

    # -- directories -----------------------------------------------------------------------------------

    def directory(self, path: bytes) -> int:
        """A handle of the directory ``path`` (b"" for the root); it stays the tree's own.

        Raises LinkInTheWay, or FileNotFoundError.
        """
        if not path:
            return self.handle
        handle = self._open.get(path)
        if handle is not None:
            self._open.move_to_end(path)
            return handle
        above, name = split(path)
        try:
            handle = os.open(name, DIRECTORY, dir_fd=self.directory(above))
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise LinkInTheWay(error.errno, "a link or no directory", path)
            raise
        self._open[path] = handle
        if len(self._open) > OPEN_DIRECTORIES:
            _, oldest = self._open.popitem(last=False)
            os.close(oldest)
        return handle

    def refresh(self) -> None:
        """Between requests directories may have been replaced: their handles must not outlive one.

        Raises Failure("root") when the root itself is another directory now.
        """
        self.forget_all()
        try:
            now = os.stat(self.root)
        except OSError as error:
            raise Failure("root", "the install root %s: %s" % (os.fsdecode(self.root), reason(error)))
        if not os.path.samestat(now, os.fstat(self.handle)):
            raise Failure("root", "the install root %s was replaced meanwhile" % os.fsdecode(self.root))

    def forget_all(self) -> None:
        for handle in self._open.values():
            os.close(handle)
        self._open.clear()

    def names(self, path: bytes, start: bytes = b"") -> list[bytes]:
        """The names in a directory that begin so, sorted; none when it is not there."""
        beginning = os.fsdecode(start)
        try:
            found = os.listdir(self.directory(path))
        except (FileNotFoundError, LinkInTheWay):
            return []
        return sorted(os.fsencode(name) for name in found if name.startswith(beginning))

    def holds(self, path: bytes) -> bool:
        """Whether anything stands at a path, through no link; far less than listing a large directory."""
        try:
            return self.status(path) is not None
        except LinkInTheWay:
            return False

    def is_directory(self, path: bytes) -> bool:
        status = self.status(path)
        return status is not None and stat.S_ISDIR(status.st_mode)

    def missing_directories(self, path: bytes) -> list[bytes]:
        """What is not there of ``path`` and the directories above it, outermost first."""
        missing: list[bytes] = []
        while path and self.status(path) is None:
            missing.insert(0, path)
            path, _ = split(path)
        return missing

    def make_directories(self, path: bytes, model: bytes | None = None, without: int = 0) -> None:
        """Makes ``path`` and what is missing above it, and completes what a kill left half made.

        ``model``: where the counterpart of ``path`` lies in this tree, whose directories give owner and mode
        (None: the directory above gives them). ``without``: mode bits that are not taken over.
        """
        missing = self.missing_directories(path)
        there = split(missing[0])[0] if missing else path
        counterpart = _above(model, len(missing)) if model else None
        if there and counterpart and self._is_half_made(there, counterpart):
            self._complete(there, counterpart, without)
        for depth, current in enumerate(missing):
            above, name = split(current)
            try:
                os.mkdir(name, HALF_MADE, dir_fd=self.directory(above))
            except FileExistsError:
                continue  # somebody else was faster, and it is theirs
            counterpart = _above(model, len(missing) - 1 - depth) if model else None
            self._complete(current, counterpart, without)

    def _is_half_made(self, path: bytes, counterpart: bytes) -> bool:
        mine, like = os.fstat(self.directory(path)), self.status(counterpart)
        half = stat.S_IMODE(mine.st_mode) & ~stat.S_ISGID == HALF_MADE  # that bit is inherited
        return half and like is not None and _ownership(mine) != _ownership(like)

    def _complete(self, path: bytes, counterpart: bytes | None, without: int) -> None:
        like = self.status(counterpart) if counterpart else None
        like = like or os.fstat(self.directory(split(path)[0]))
        hand_over(self.directory(path), like, stat.S_IMODE(like.st_mode) & ~without, exact=False)

    def remove_directory(self, path: bytes) -> None:
        """Removes an empty directory."""
        handle = self._open.pop(path, None)
        if handle is not None:
            os.close(handle)
        above, name = split(path)
        os.rmdir(name, dir_fd=self.directory(above))

    # -- files -----------------------------------------------------------------------------------------

    def place(self, path: bytes) -> tuple[int, bytes]:
        """(handle of the directory, name) of a path."""
        above, name = split(path)
        return self.directory(above), name

    def status(self, path: bytes) -> os.stat_result | None:
        """``lstat`` of a path, or None when it is not there. Raises LinkInTheWay for its directories."""
        try:
            handle, name = self.place(path)
            return os.stat(name, dir_fd=handle, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open(self, path: bytes) -> int:
        """A handle of a regular file, to read. Raises LinkInTheWay when it is anything else."""
        handle, name = self.place(path)
        try:
            file = os.open(name, REGULAR, dir_fd=handle)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):
                raise LinkInTheWay(error.errno, "a link or no regular file", path)
            raise
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise LinkInTheWay(errno.EINVAL, "no regular file", path)
        return file

    def read_small(self, path: bytes, limit: int) -> bytes | None:
        """The bytes of a regular file of at most ``limit`` bytes, or None when there is none."""
        try:
            file = self.open(path)
        except (FileNotFoundError, LinkInTheWay):
            return None
        with os.fdopen(file, "rb") as stream:
            content = stream.read(limit + 1)
        return content if len(content) <= limit else None

    def create(self, path: bytes) -> int:
        """A handle of a new file, to write; nobody else can open it yet."""
        handle, name = self.place(path)
        return os.open(name, NEW, 0o600, dir_fd=handle)

    def move(self, source: bytes, destination: bytes) -> None:
        source_handle, source_name = self.place(source)
        handle, name = self.place(destination)
        os.rename(source_name, name, src_dir_fd=source_handle, dst_dir_fd=handle)

    def second_name(self, source: bytes, destination: bytes) -> None:
        """A hard link; a copy with owner, mode and times where the file system or its rules allow no link."""
        source_handle, source_name = self.place(source)
        handle, name = self.place(destination)
        try:
            os.link(source_name, name, src_dir_fd=source_handle, dst_dir_fd=handle, follow_symlinks=False)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS):
                raise
            self._copy(source, destination)

    def _copy(self, source: bytes, destination: bytes) -> None:
        with os.fdopen(self.open(source), "rb") as stream, os.fdopen(self.create(destination), "wb") as copy:
            status, writing = os.fstat(stream.fileno()), copy.fileno()
            for piece in iter(lambda: stream.read(PIECE), b""):
                copy.write(piece)
            copy.flush()
            hand_over(writing, status, stat.S_IMODE(status.st_mode), exact=True)
            os.utime(writing, ns=(status.st_atime_ns, status.st_mtime_ns))
            os.fsync(writing)

    def flush(self, path: bytes) -> None:
        """Waits until the content of a regular file is on the disk."""
        file = self.open(path)
        try:
            os.fsync(file)
        finally:
            os.close(file)

    def remove(self, path: bytes) -> None:
        """Unlinks a path; nothing to do when it is not there."""
        try:
            handle, name = self.place(path)
            os.unlink(name, dir_fd=handle)
        except FileNotFoundError:
            pass

    def sha256(self, path: bytes) -> str | None:
        """The digest of a regular file, or None when nothing is there. Raises OSError (see ``digests``)."""
        return None if self.status(path) is None else self.digests(path)[1]

    def digests(self, path: bytes, object_format: str = "sha1") -> tuple[os.stat_result, str, str]:
        """(status, sha256, git blob id) of a regular file, from one read.

        The blob id is git's object id: the hash over ``blob <size>\\0`` and the content. Raises OSError, and
        OSError(ESTALE) when the file changed size while it was read.
        """
        file = self.open(path)
        try:
            status = os.fstat(file)
            blob = hashlib.new(object_format, b"blob %d\0" % status.st_size)
            sha256 = hashlib.sha256()
            size = 0
            while True:
                piece = os.read(file, PIECE)
                if not piece:
                    break
                size += len(piece)
                blob.update(piece)
                sha256.update(piece)
        finally:
            os.close(file)
        if size != status.st_size:
            raise OSError(errno.ESTALE, "changed while it was read", path)
        return status, sha256.hexdigest(), blob.hexdigest()


def hand_over(handle: int, owner: os.stat_result, mode: int, *, exact: bool) -> None:
    """Gives an open file or directory its owner and, last, its mode.

    Only root can give away: what another user makes stays with it, unless the owner must be ``exact``.
    """
    mine = os.fstat(handle)
    if (exact or os.geteuid() == 0) and (mine.st_uid, mine.st_gid) != (owner.st_uid, owner.st_gid):
        os.fchown(handle, owner.st_uid, owner.st_gid)
    os.fchmod(handle, mode)


def _ownership(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)


def _above(path: bytes, levels: int) -> bytes:
    parts = path.split(b"/")
    return b"/".join(parts[: len(parts) - levels]) if levels < len(parts) else b""


@functools.lru_cache(maxsize=256)
def split(path: bytes) -> tuple[bytes, bytes]:
    """(directory, name) of a relative path, after checking each component. One path is asked for many times.

    Raises Failure("usage") for what is no path below the install root, OSError for one that is too deep.
    """
    parts = path.split(b"/")
    if b"" in parts or b"." in parts or b".." in parts or b"\0" in path:
        raise Failure("usage", "not a path below the install root: %r" % path)
    if len(parts) > DEPTH:
        raise OSError(errno.ENAMETOOLONG, "more than %d directories deep" % DEPTH, path)
    return b"/".join(parts[:-1]), parts[-1]


def join(directory: bytes, name: bytes) -> bytes:
    return directory + b"/" + name if directory else name
