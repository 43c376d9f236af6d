"""How a number of things is said."""

from __future__ import annotations


def counted(count: int, one: str, many: str | None = None) -> str:
    """``1 file``, ``2 files``; ``many`` where it is not ``one`` with an s."""
    return f"{count} {one if count == 1 else many or one + 's'}"
