"""Bytes of the worktree as they were at one moment, for a worktree that is written to all the time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import IO

from overlaysync.model.worktree import RepoPath

PIECE = 256 * 1024


class Capture:
    """Copies of files in one temporary file without a name, which is on no path and ends with the process."""

    def __init__(self) -> None:
        import tempfile

        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close)
        self._places: dict[RepoPath, tuple[int, int]] = {}

    def keep(self, path: RepoPath, pieces: Iterable[bytes]) -> None:
        """Takes a file's bytes; whatever ``pieces`` raises leaves it out."""
        start = end = self._file.seek(0, 2)
        for piece in pieces:
            end += self._file.write(piece)
        self._file.flush()
        self._places[path] = (start, end - start)

    def __contains__(self, path: RepoPath) -> bool:
        return path in self._places

    def pieces(self, path: RepoPath) -> Iterator[bytes]:
        """The bytes of a file that is kept, in pieces of at most 256 KiB."""
        start, left = self._places[path]
        while left:
            piece = os.pread(self._file.fileno(), min(PIECE, left), start)
            start, left = start + len(piece), left - len(piece)
            yield piece

    def clear(self) -> None:
        """Forgets all files."""
        self._places.clear()
        self._file.truncate(0)

    def close(self) -> None:
        self._file.close()
