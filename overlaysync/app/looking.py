"""The worktree, which is looked at while the tool is loaded and the target is contacted."""

from __future__ import annotations

from overlaysync.app.options import Options
from overlaysync.errors import OverlaysyncError
from overlaysync.model.ahead import Ahead
from overlaysync.worktree.recent_blobs import RecentBlobs
from overlaysync.worktree.worktree import Worktree, open_worktree


class Looking:
    """A look that begins at once, in a thread. A context manager.

    ``capture``, ``recent``: see ``open_worktree``. Entering raises UsageError, BaselineError.
    """

    def __init__(self, options: Options, *, capture: bool = False, recent: RecentBlobs | None = None) -> None:
        self._opened = Ahead(lambda: _begun(options, capture, recent))

    def __enter__(self) -> Worktree:
        return self._opened.result()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """For one that nobody entered, too; may be called again."""
        try:
            worktree = self._opened.result()
        except OverlaysyncError:
            return
        worktree.close()


def _begun(options: Options, capture: bool, recent: RecentBlobs | None) -> Worktree:
    return open_worktree(
        options.worktree, options.cache_directory(), capture=capture, begin=True, recent=recent
    )
