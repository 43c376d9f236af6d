"""Floor 2: frozen values and enums, and the protocols of the seams. No input or output."""
