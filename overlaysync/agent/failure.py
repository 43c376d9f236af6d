"""What a request answers when it cannot be done."""

from __future__ import annotations


class Failure(Exception):
    """A request failed for a reason that the host knows how to explain.

    ``kind`` is one of: locked, damaged, root, interpreter, write, apply, unfinished, usage. ``path`` is the
    installed path in trouble, where there is one.
    """

    def __init__(self, kind: str, message: str, path: str | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.path = path


def reason(error: OSError) -> str:
    """What the operating system said, without the path."""
    return error.strerror or str(error)
