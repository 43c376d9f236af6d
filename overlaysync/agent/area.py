"""Our own directory in the target: ``.overlaysync/<distribution>`` beside the dist-info.

- ``manifest.json``: the record of the overlay that is in place;
- ``originals/``: the container's own files, mirrored by path, with their bytecode;
- ``transaction/``: journal and previous files of a transaction that is under way.
"""

import errno
import fcntl
import json
import os

from overlaysync.agent.failure import Failure
from overlaysync.agent.frames import to_path
from overlaysync.agent.inventory import read_small
from overlaysync.agent.tree import join, split

HOME = b".overlaysync"
RECORD_LIMIT = 64 * 1024 * 1024


class Area(object):
    """The names in it, the lock over it, and its own files."""

    def __init__(self, tree, distribution):
        self.tree = tree
        self.home = join(HOME, to_path(distribution))
        self.manifest = join(self.home, b"manifest.json")
        self.originals = join(self.home, b"originals")
        self.transaction = join(self.home, b"transaction")
        self.journal = join(self.transaction, b"journal.json")
        self.previous = join(self.transaction, b"previous")

    def lock(self):
        """Takes the kernel's lock on the install root; it goes with the process, so it is never stale."""
        try:
            fcntl.flock(self.tree.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure(
                "locked", "another run of overlaysync is at work in %s" % os.fsdecode(self.tree.root)
            )

    def read(self, path):
        """One of our JSON records as (text, object), or (None, None). Raises Failure("damaged")."""
        if self.tree.status(path) is None:
            return None, None
        content = read_small(self.tree, path, RECORD_LIMIT)
        try:
            text = content.decode("ascii")
            record = json.loads(text)
            if not isinstance(record, dict):
                raise ValueError("no object")
            return text, record
        except (AttributeError, ValueError, RecursionError) as error:
            where = os.fsdecode(os.path.join(self.tree.root, path))
            raise Failure("damaged", "the record %s cannot be read: %s" % (where, error))

    def write(self, path, text):
        """Puts one of our records in place: temporary file, fsync, rename, fsync of the directory."""
        directory, name = split(path)
        temporary = name + b".new"
        self.tree.remove(join(directory, temporary))
        handle = self.tree.directory(directory)
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=handle)
        with os.fdopen(file, "wb") as stream:
            stream.write(text.encode("ascii"))
            stream.flush()
            os.fsync(stream.fileno())
        os.rename(temporary, name, src_dir_fd=handle, dst_dir_fd=handle)
        os.fsync(handle)

    def remove_tree(self, path):
        """Removes a directory of ours with all that is in it."""
        if self.tree.status(path) is None:
            return
        for name in self.tree.names(path):
            item = join(path, name)
            if self.tree.is_directory(item):
                self.remove_tree(item)
            else:
                self.tree.remove(item)
        self.tree.remove_directory(path)

    def prune(self, path):
        """Removes the empty directories at and below ``path``."""
        for name in self.tree.names(path):
            item = join(path, name)
            if self.tree.is_directory(item):
                self.prune(item)
        if self.tree.is_directory(path) and not self.tree.names(path):
            self.tree.remove_directory(path)

    def leave(self):
        """Takes our directories away where nothing of ours is left in them."""
        self.prune(self.originals)
        for path in (self.home, HOME):
            try:
                self.tree.remove_directory(path)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                    raise
