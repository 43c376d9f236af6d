"""What changes with a file's content: its status, as stat(2) tells it."""

from __future__ import annotations

Stamp = tuple[int, int, int, int, int, int]
"""Device, inode, size, time of modification and of status change (ns), type and mode.

No program can set the time of status change, so that equal stamps are equal files, where the file system
keeps such times at all.
"""
