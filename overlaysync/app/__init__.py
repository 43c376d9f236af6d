"""Floor 5: one use case per file, each readable top to bottom as the pipeline."""
