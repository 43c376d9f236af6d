"""The install root through directory handles: nothing above a path is ever followed by name.

Every path is relative to the root; every component is opened with O_NOFOLLOW from the handle of its parent,
so that a link planted anywhere between root and file is seen, even one that is swapped in while we look.
"""

import collections
import errno
import hashlib
import os
import stat

from overlaysync.agent.failure import Failure

OPEN_DIRECTORIES = 128  # far more than the depth of two paths, so a handle in use is never the oldest
PIECE = 1024 * 1024
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class LinkInTheWay(OSError):
    """A component of the path is a symbolic link or no directory."""


class Tree(object):
    """The files below one directory. ``root`` must be a real path (bytes)."""

    def __init__(self, root):
        self.root = root
        try:
            self.handle = os.open(root, DIRECTORY)
        except OSError as error:
            raise Failure(
                "root", "the install root %s cannot be opened: %s" % (os.fsdecode(root), error.strerror)
            )
        self._open = collections.OrderedDict()

    def close(self):
        for handle in self._open.values():
            os.close(handle)
        self._open.clear()
        os.close(self.handle)

    def directory(self, path):
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

    def forget(self, path):
        """Drops the handle of a directory that is about to be removed."""
        handle = self._open.pop(path, None)
        if handle is not None:
            os.close(handle)

    def place(self, path):
        """(handle of the directory, name) of a path."""
        above, name = split(path)
        return self.directory(above), name

    def status(self, path):
        """``lstat`` of a path, or None when it is not there. Raises LinkInTheWay for its directories."""
        try:
            handle, name = self.place(path)
            return os.stat(name, dir_fd=handle, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open(self, path):
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

    def names(self, path):
        """The names in a directory, sorted; none when it is not there."""
        try:
            return sorted(os.fsencode(name) for name in os.listdir(self.directory(path)))
        except (FileNotFoundError, LinkInTheWay):
            return []

    def is_directory(self, path):
        status = self.status(path)
        return status is not None and stat.S_ISDIR(status.st_mode)

    def missing_directories(self, path):
        """What is not there of ``path`` and the directories above it, outermost first."""
        missing = []
        while path and self.status(path) is None:
            missing.insert(0, path)
            path, _ = split(path)
        return missing

    def make_directories(self, path, model=None):
        """Makes ``path`` and what is missing above it.

        ``model``: where the counterpart of ``path`` lies in this tree, whose directories give owner and mode
        (None, or no counterpart: those of the directory above).
        """
        for current in self.missing_directories(path):
            above, name = split(current)
            handle = self.directory(above)
            like = None
            if model is not None:
                depth_below = path.count(b"/") - current.count(b"/")
                like = self.status(b"/".join(model.split(b"/")[: model.count(b"/") + 1 - depth_below]))
            like = like or os.fstat(handle)
            os.mkdir(name, 0o700, dir_fd=handle)
            made = self.directory(current)
            mine = os.fstat(made)
            if (mine.st_uid, mine.st_gid) != (like.st_uid, like.st_gid):
                os.fchown(made, like.st_uid, like.st_gid)
            os.fchmod(made, stat.S_IMODE(like.st_mode))

    def remove_directory(self, path):
        """Removes an empty directory."""
        self.forget(path)
        above, name = split(path)
        os.rmdir(name, dir_fd=self.directory(above))

    def remove_empty_above(self, path):
        """Removes the directories above ``path`` that are empty now; a directory of the root itself too."""
        above, _ = split(path)
        while above:
            try:
                if self.names(join(above, b"__pycache__")) == [] and self.status(join(above, b"__pycache__")):
                    self.remove_directory(join(above, b"__pycache__"))
                self.remove_directory(above)
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                    return
                if error.errno != errno.ENOENT:
                    raise
            above, _ = split(above)

    def move(self, source, destination):
        source_handle, source_name = self.place(source)
        handle, name = self.place(destination)
        os.rename(source_name, name, src_dir_fd=source_handle, dst_dir_fd=handle)

    def second_name(self, source, destination):
        """A hard link; a copy with owner, mode and times where the file system or its rules allow no link."""
        source_handle, source_name = self.place(source)
        handle, name = self.place(destination)
        try:
            os.link(source_name, name, src_dir_fd=source_handle, dst_dir_fd=handle, follow_symlinks=False)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS):
                raise
            self._copy(source, handle, name)

    def _copy(self, source, handle, name):
        with os.fdopen(self.open(source), "rb") as stream:
            status = os.fstat(stream.fileno())
            writing = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=handle)
            with os.fdopen(writing, "wb") as copy:
                while True:
                    piece = stream.read(PIECE)
                    if not piece:
                        break
                    copy.write(piece)
                copy.flush()
                os.fchown(writing, status.st_uid, status.st_gid)
                os.fchmod(writing, stat.S_IMODE(status.st_mode))
                os.utime(writing, ns=(status.st_atime_ns, status.st_mtime_ns))
                os.fsync(writing)

    def remove(self, path):
        """Unlinks a path; nothing to do when it is not there."""
        try:
            handle, name = self.place(path)
            os.unlink(name, dir_fd=handle)
        except FileNotFoundError:
            pass

    def digests(self, path, object_format="sha1"):
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


def split(path):
    """(directory, name) of a relative path, after checking each component."""
    parts = path.split(b"/")
    if any(part in (b"", b".", b"..") or b"\0" in part for part in parts):
        raise Failure("usage", "not a path below the install root: %r" % path)
    return b"/".join(parts[:-1]), parts[-1]


def join(directory, name):
    return directory + b"/" + name if directory else name
