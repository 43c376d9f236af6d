"""Frames: what goes in comes out, and what is no frame is an error within bounds of memory and time."""

from __future__ import annotations

import io
import json
import os
import struct
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlaysync.agent import frames

PATHS = st.binary(max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


def receiver(content: bytes, piece: int = 1 << 20) -> Callable[[int], bytes]:
    stream = io.BytesIO(content)
    return lambda size: stream.read(min(size, piece))


def framed(head: bytes, body: bytes = b"", *, magic: bytes = b"OVS1") -> bytes:
    return struct.pack(">4sII", magic, len(head), len(body)) + head + body


def test_the_wire_is_what_it_was() -> None:
    """An agent that is already running must understand a newer host: change PROTOCOL with this."""
    assert frames.PROTOCOL == 1
    assert frames.encode({"do": "bye"}, b"x") == b'OVS1\0\0\0\x0c\0\0\0\x01{"do":"bye"}x'


@given(st.dictionaries(st.text(), VALUES, max_size=5), st.binary(max_size=100), st.integers(1, 9))
def test_what_goes_in_comes_out(header: dict[str, object], body: bytes, piece: int) -> None:
    content = frames.encode(header, body)
    receive = receiver(content + content, piece)
    assert frames.read(receive) == (header, body)
    assert frames.read(receive) == (header, body)
    assert frames.read(receive) is None


@given(PATHS)
def test_every_path_has_a_wire_string(path: bytes) -> None:
    text = frames.to_text(path)
    assert frames.to_path(json.loads(json.dumps(text))) == path
    assert text == path.decode("utf-8", "surrogateescape")


@given(st.binary(max_size=200))
def test_garbage_is_never_a_crash(content: bytes) -> None:
    try:
        frames.read(receiver(content))
    except frames.FrameError:
        pass
    else:
        assert content == b"" or content.startswith(b"OVS1")


@given(st.dictionaries(st.text(), VALUES, max_size=3), st.data())
def test_truncation_is_told(header: dict[str, object], data: st.DataObject) -> None:
    content = frames.encode(header, b"body")
    length = data.draw(st.integers(1, len(content) - 1))
    with pytest.raises(frames.FrameError, match="ended inside a frame"):
        frames.read(receiver(content[:length]))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (framed(b"{}", magic=b"HTTP"), "not a frame"),
        (framed(b"[]"), "no object"),
        (framed(b"1"), "no object"),
        (framed(b""), "not JSON"),
        (framed(b"{"), "not JSON"),
        (framed(b"\xff\xff"), "not JSON"),
        (framed("{'é': 1}".encode()), "not JSON"),
        (framed(b"[" * 1_000_000), "not JSON"),
        (framed(b'{"a":' * 200_000), "not JSON"),
        (framed(b'{"a":' + b"9" * 5_000_000 + b"}"), "a number of 5000000 digits"),
        (struct.pack(">4sII", b"OVS1", 0xFFFFFFFF, 0), "too large"),
        (struct.pack(">4sII", b"OVS1", 2, 0xFFFFFFFF), "too large"),
        (struct.pack(">4sII", b"OVS1", frames.HEADER_LIMIT, 0), "ended inside"),
    ],
)
def test_what_is_no_frame(content: bytes, told: str) -> None:
    with pytest.raises(frames.FrameError, match=told):
        frames.read(receiver(content))


def test_a_promised_length_takes_no_memory() -> None:
    """Only what arrives does."""
    tracemalloc.start()
    try:
        with pytest.raises(frames.FrameError):
            frames.read(receiver(struct.pack(">4sII", b"OVS1", frames.HEADER_LIMIT, 0)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


def test_what_is_too_large_is_not_sent() -> None:
    with pytest.raises(frames.FrameError, match="too large"):
        frames.encode({}, bytes(frames.BODY_LIMIT + 1))
    assert frames.encode({}, os.urandom(frames.BODY_LIMIT))
