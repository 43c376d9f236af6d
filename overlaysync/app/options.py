"""What the command line says, the same for every use case."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from overlaysync.state.directories import cache_directory

Stage = Callable[[str], None]
"""Told the name of each stage as it begins, for progress."""


def silent(_stage: str) -> None:
    """A ``Stage`` that tells nobody."""


class Options(Struct, frozen=True):
    """Where, onto what, and with which evidence.

    ``image_index``: the index that the image was pulled by, as its registry serves it.
    ``records``: where manifests are kept on the host (default: the user's state directory).
    ``cache``: where what only saves time is kept (default: the user's cache directory).
    ``acknowledged``: names of risk classes (``ProblemKind.acknowledge``).
    """

    worktree: Path
    config: Path | None = None
    container: str | None = None
    distribution: str | None = None
    image_commit: str | None = None
    image_index: Path | None = None
    interpreter: str | None = None
    user: str | None = None
    records: Path | None = None
    cache: Path | None = None
    acknowledged: frozenset[str] = frozenset()

    def cache_directory(self) -> Path | None:
        """Where the cache is; None where there can be none."""
        return cache_directory() if self.cache is None else self.cache
