"""How a moment of a watch is said in one sentence."""

from __future__ import annotations


def told(event: str, message: str) -> str:
    """What happened, and what is said of it; once, where that says it again."""
    return message if message.startswith(event) else f"{event}: {message}"
