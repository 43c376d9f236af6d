"""Strings and files as an interpreter of the target has them; it is sent there (see ``inspection``)."""

from __future__ import annotations

import os
import sys


def text(value: object) -> str | None:
    """A native string as a wire string; None for anything else."""
    return os.fsencode(value).decode("utf-8", "surrogateescape") if isinstance(value, str) else None


def native(value: str) -> str:
    """What ``text`` was made of."""
    return os.fsdecode(value.encode("utf-8", "surrogateescape"))


def search_path() -> list[str]:
    return [entry for entry in sys.path if isinstance(entry, str)]  # the import system skips others too


def read(path: str, limit: int = -1) -> str | None:
    """The text of a file, or None."""
    try:
        with open(path, encoding="utf-8", errors="replace", opener=never_waiting) as stream:
            return stream.read(limit)
    except OSError:
        return None


def never_waiting(path: str, flags: int) -> int:
    """An opener: a FIFO would wait for its writer."""
    return os.open(path, flags | os.O_NONBLOCK)
