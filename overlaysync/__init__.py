"""overlaysync: modify in the host worktree, execute in the container."""

__version__ = "0.1.0"
