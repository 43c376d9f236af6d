"""Floor 4: configuration."""
