"""``watch``: saves, refusals, git at work, containers that come and go."""
