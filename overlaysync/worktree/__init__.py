"""Floor 4: git and file content of the host; the only place that talks to git."""
