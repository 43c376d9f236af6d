"""What changes with a file's content: its status, as stat(2) tells it. Both sides keep digests by it."""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    import os


def stamp_of(status: os.stat_result) -> tuple[int, int, int, int, int, int]:
    """The host's ``model.stamp.Stamp``."""
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_mode,
    )
