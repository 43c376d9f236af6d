"""Sets of known words, written as text with spaces so that long ones stay readable."""

from __future__ import annotations


def words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())
