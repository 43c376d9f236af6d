"""Floor 4: transports. A transport starts a process and hands back its pipes; it has no copy method."""
