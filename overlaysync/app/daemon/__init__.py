"""``daemon``: several worktrees and their targets, watched in the background by one process."""
