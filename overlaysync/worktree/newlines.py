"""Line ends of a file read in pieces.

The stated rule: a checkout whose line ends are all CRLF, of a blob that holds no CR at all, is compared and
copied in the blob's form (LF). Nothing else is converted, whatever ``core.autocrlf`` or attributes say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def whole_line_ends(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces that never part a CR from the LF behind it."""
    held = b""
    for piece in pieces:
        joined = held + piece if held else piece
        held = b"\r" if joined.endswith(b"\r") else b""
        ready = joined[:-1] if held else joined
        if ready:
            yield ready
    if held:
        yield held


def to_line_feeds(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes with every CRLF as LF."""
    return (piece.replace(b"\r\n", b"\n") for piece in whole_line_ends(pieces))


class LineEnds:
    """How many line ends of each kind the pieces held. Pieces come from ``whole_line_ends``."""

    def __init__(self) -> None:
        self.crlf = self.lone_lf = self.lone_cr = 0

    def count(self, piece: bytes) -> None:
        """Take one piece into account."""
        carriage_returns = piece.count(b"\r")
        pairs = piece.count(b"\r\n") if carriage_returns else 0
        self.crlf += pairs
        self.lone_cr += carriage_returns - pairs
        self.lone_lf += piece.count(b"\n") - pairs

    @property
    def all_crlf(self) -> bool:
        return self.crlf > 0 and not self.lone_lf and not self.lone_cr
