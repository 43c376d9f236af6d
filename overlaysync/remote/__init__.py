"""Floor 4: ships the agent, shakes hands, one typed method per agent request."""
