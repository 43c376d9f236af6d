"""Frames: how the two sides talk.

A frame is ``MAGIC``, two unsigned 32-bit big-endian lengths, a JSON header in ASCII and a raw body. Paths
travel as JSON strings whose undecodable bytes are lone surrogates (UTF-8 with ``surrogateescape``, PEP 383),
whatever the locale of either side.
"""

from __future__ import annotations

import json
import struct

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Receive = Callable[[int], bytes]

MAGIC = b"OVS1"
PROTOCOL = 1
HEADER_LIMIT = 64 * 1024 * 1024
BODY_LIMIT = 1024 * 1024
VALUES_LIMIT = 2 * 1000 * 1000  # an empty list of one byte takes 56 of memory; ours name some 100,000 files
DIGITS_LIMIT = 40  # no number of ours is longer; int() of an endless one takes hours before Python 3.10.7
ZEROS = bytes(ord("0") if chr(byte) in "0123456789" else 0 for byte in range(256))
ENDLESS = b"0" * (DIGITS_LIMIT + 1)
PREFIX = struct.Struct(">4sII")


class FrameError(Exception):
    """What was read is no frame of ours, or is larger than allowed."""


def to_path(text: str) -> bytes:
    """A wire string as the bytes of a path. Raises UnicodeEncodeError for what is none."""
    return text.encode("utf-8", "surrogateescape")


def to_text(path: bytes) -> str:
    """The bytes of a path as a wire string."""
    return path.decode("utf-8", "surrogateescape")


def encode(header: dict[str, Any], body: bytes = b"") -> bytes:
    """A header (JSON object) and a body (at most BODY_LIMIT bytes) as the bytes of one frame."""
    head = json.dumps(header, separators=(",", ":")).encode("ascii")
    if len(head) > HEADER_LIMIT or len(body) > BODY_LIMIT:
        raise FrameError("frame too large: header %d bytes, body %d bytes" % (len(head), len(body)))
    return PREFIX.pack(MAGIC, len(head), len(body)) + head + body


def read(receive: Receive) -> tuple[dict[str, Any], bytes] | None:
    """The next (header, body), or None at the end of the stream.

    ``receive(size)`` returns between 1 and ``size`` bytes, or b"" at the end. Raises FrameError for anything
    that is not a whole frame within the limits.
    """
    first = _exactly(receive, PREFIX.size)
    if not first:
        return None
    if len(first) < PREFIX.size:
        raise FrameError("the stream ended inside a frame")
    magic, head_length, body_length = PREFIX.unpack(first)
    if magic != MAGIC:
        raise FrameError("not a frame: %r" % first)
    if head_length > HEADER_LIMIT or body_length > BODY_LIMIT:
        raise FrameError("frame too large: header %d bytes, body %d bytes" % (head_length, body_length))
    head = _exactly(receive, head_length)
    body = _exactly(receive, body_length)
    if len(head) + len(body) < head_length + body_length:
        raise FrameError("the stream ended inside a frame")
    if head.count(b",") + head.count(b"[") + head.count(b"{") > VALUES_LIMIT:
        raise FrameError("frame too large: more than %d values" % VALUES_LIMIT)
    try:
        endless = ENDLESS in head.translate(ZEROS)  # a call for each number takes its time
        header = json.loads(head.decode("ascii"), parse_int=_number if endless else None)
    except (ValueError, RecursionError) as error:
        raise FrameError("frame header is not JSON: %s" % error) from None
    if not isinstance(header, dict):
        raise FrameError("frame header is no object")
    return header, body


def _exactly(receive: Receive, size: int) -> bytes:
    """``size`` bytes, or fewer where the stream ends before."""
    content = bytearray()  # a list of pieces would take fifty times their size where each is one byte
    while len(content) < size:
        piece = receive(size - len(content))
        if not piece:
            break
        content += piece
    return bytes(content)


def _number(digits: str) -> int:
    if len(digits) > DIGITS_LIMIT:
        raise ValueError("a number of %d digits" % len(digits))
    return int(digits)
