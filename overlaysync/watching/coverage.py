"""Whether inotify watches every directory of a tree: a watch that the system refuses is not always told."""

from __future__ import annotations

import os
import re
from pathlib import Path

HANDLES = Path("/proc/self/fdinfo")
WATCH = re.compile(r"^inotify wd:[0-9a-f]+ ino:([0-9a-f]+) ", re.MULTILINE)


def unwatched(root: Path) -> Path | None:
    """A directory below a root that this process does not watch, by inode (proc(5)); None where all are.

    None as well where the system has no inotify: other systems watch whole trees.
    """
    watched = _watched_inodes()
    if watched is None:
        return None
    for directory, directories, _ in os.walk(root):
        for name in directories:
            path = Path(directory, name)
            try:
                status = path.lstat()
            except FileNotFoundError:
                continue
            if not path.is_symlink() and status.st_ino not in watched:
                return path
    return None


def _watched_inodes() -> set[int] | None:
    """Of all inotify instances of this process; None where it has none."""
    found: set[int] | None = None
    try:
        handles = list(HANDLES.iterdir())
    except OSError:
        return None
    for handle in handles:
        try:
            text = handle.read_text()
        except OSError:
            continue  # closed meanwhile
        if "inotify wd:" in text:
            found = (found or set()) | {int(number, 16) for number in WATCH.findall(text)}
    return found
