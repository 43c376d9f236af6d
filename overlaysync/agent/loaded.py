"""What of the package a process holds, and since when the program that it runs is in its memory (proc(5))."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from typing import Any

SHOWN = 20


def mapped(maps: bytes | None, root: bytes | None) -> list[bytes]:
    """Files below ``root`` in the process's memory."""
    found: set[bytes] = set()
    if root is None:
        return []
    for line in (maps or b"").splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6 and fields[5].startswith(root + b"/"):
            found.add(fields[5])
    return sorted(found)[:SHOWN]


def opened(place: bytes, root: bytes | None) -> list[bytes]:
    """Files below ``root`` that the process has open; none where it may not be looked at."""
    if root is None:
        return []
    try:
        handles = os.listdir(place + b"fd")
    except OSError:
        return []  # it has ended, or is another user's: a Python counts without it
    found = {_link(place + b"fd/" + handle) for handle in handles}
    return sorted(path for path in found if path.startswith(root + b"/") and os.path.isfile(path))[:SHOWN]


def _link(path: bytes) -> bytes:
    try:
        return os.readlink(path)
    except OSError:
        return b""  # closed meanwhile


def since(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tells of each process the earliest start among those that share its program: ``loaded``.

    A fork keeps the modules that its parent has loaded, and the address of its parent's stack, which the
    kernel chooses anew for every program that it starts. Of ``orphaned`` ones it is not to be seen.
    """
    first: dict[int, float] = {}
    there = {row.get("stack", 0) for row in rows if not row.get("forked")}
    for row in rows:
        first[row.get("stack", 0)] = min(row["started"], first.get(row.get("stack", 0), row["started"]))
    for row in rows:
        stack = row.pop("stack", 0)
        row["loaded"] = first[stack] if stack else row["started"]
        row["orphaned"] = row.pop("forked", False) and (not stack or stack not in there)
    return rows
