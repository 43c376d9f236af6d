"""Floor 3: pure decisions. No input or output."""
