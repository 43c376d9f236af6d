"""Floor 4: manifests and locks on the host."""
