"""The worktree floor, on real repositories."""
