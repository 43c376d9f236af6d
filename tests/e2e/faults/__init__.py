"""What dies around the agent: the host's process, the engine's client, the container."""
