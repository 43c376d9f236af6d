"""Floor 4: manifests on the host, and where they are kept."""
