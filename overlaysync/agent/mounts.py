"""What is mounted in and around a directory, in this mount namespace."""

from __future__ import annotations

import errno

from overlaysync.agent.frames import to_text

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from overlaysync.agent.tree import Tree


def mounts(tree: Tree) -> tuple[list[str], str, str | None]:
    """What is mounted at or below the root, and what it lies on, in this mount namespace (proc(5)).

    (mount points at or below, the one that the root lies on, the type of file system there if it is known)
    """
    root, own = tree.root, _mount_id(tree.handle)
    found, holder, kind = set(), b"/", None
    try:
        with open("/proc/self/mountinfo", "rb") as stream:
            for line in stream:
                identity, _, _, _, point = line.split(b" ")[:5]
                point = _unescape(point)
                if point == root or point.startswith(root + b"/"):
                    found.add(to_text(point))
                if point == root or root.startswith(point.rstrip(b"/") + b"/"):
                    holder = max(holder, point, key=len)
                if identity == own:
                    kind = to_text(line.partition(b" - ")[2].split(b" ")[0])
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
    return sorted(found), to_text(holder), kind


def _mount_id(handle: int) -> bytes | None:
    """Of the mount that an open directory is on: one that another hides has the same path."""
    try:
        with open("/proc/self/fdinfo/%d" % handle, "rb") as stream:
            return next((line.split()[1] for line in stream if line.startswith(b"mnt_id:")), None)
    except OSError:
        return None


def _unescape(field: bytes) -> bytes:
    """mountinfo writes space, tab, newline and backslash as three octal digits."""
    head, *rest = field.split(b"\\")
    return head + b"".join(bytes([int(part[:3], 8)]) + part[3:] for part in rest)
