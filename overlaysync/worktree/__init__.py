"""Floor 4: git and file content of the host; the only place that talks to git."""

from overlaysync.worktree.worktree import Worktree, open_worktree

__all__ = ["Worktree", "open_worktree"]
