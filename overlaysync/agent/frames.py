"""Frames: how the two sides talk.

A frame is ``MAGIC``, two unsigned 32-bit big-endian lengths, a JSON header in ASCII and a raw body. Paths
travel as JSON strings whose undecodable bytes are lone surrogates (UTF-8 with ``surrogateescape``, PEP 383),
whatever the locale of either side.
"""

import json
import struct

MAGIC = b"OVS1"
PROTOCOL = 1
HEADER_LIMIT = 64 * 1024 * 1024
BODY_LIMIT = 1024 * 1024
PREFIX = struct.Struct(">4sII")


class FrameError(Exception):
    """What was read is no frame of ours, or is larger than allowed."""


def to_path(text):
    """A wire string as the bytes of a path."""
    return text.encode("utf-8", "surrogateescape")


def to_text(path):
    """The bytes of a path as a wire string."""
    return path.decode("utf-8", "surrogateescape")


def encode(header, body=b""):
    """A header (JSON object) and a body (at most BODY_LIMIT bytes) as the bytes of one frame."""
    head = json.dumps(header, separators=(",", ":")).encode("ascii")
    if len(head) > HEADER_LIMIT or len(body) > BODY_LIMIT:
        raise FrameError("frame too large: header %d bytes, body %d bytes" % (len(head), len(body)))
    return PREFIX.pack(MAGIC, len(head), len(body)) + head + body


def read(receive):
    """The next (header, body), or None at the end of the stream.

    ``receive(size)`` returns between 1 and ``size`` bytes, or b"" at the end. Raises FrameError for anything
    that is not a whole frame within the limits.
    """
    first = _exactly(receive, PREFIX.size, at_start=True)
    if first is None:
        return None
    magic, head_length, body_length = PREFIX.unpack(first)
    if magic != MAGIC:
        raise FrameError("not a frame: %r" % first)
    if head_length > HEADER_LIMIT or body_length > BODY_LIMIT:
        raise FrameError("frame too large: header %d bytes, body %d bytes" % (head_length, body_length))
    head = _exactly(receive, head_length)
    body = _exactly(receive, body_length)
    try:
        header = json.loads(head.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise FrameError("frame header is not JSON: %s" % error) from None
    if not isinstance(header, dict):
        raise FrameError("frame header is no object")
    return header, body


def _exactly(receive, size, at_start=False):
    pieces = []
    missing = size
    while missing:
        piece = receive(missing)
        if not piece:
            if at_start and missing == size:
                return None
            raise FrameError("the stream ended inside a frame")
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)
