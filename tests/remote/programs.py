"""Programs that stand at the other end of the pipes in place of the agent, as real child processes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from overlaysync.agent import frames
from overlaysync.targets.local import LocalTransport
from overlaysync.targets.pipes import ChildProcess

HELLO = {
    "protocol": frames.PROTOCOL,
    "python": "3.8.0",
    "executable": "/usr/bin/python3",
    "pid": 1,
    "uid": 0,
    "gid": 0,
    "machine": "x86_64",
}

PREPARE = """
import json, os, struct, sys, time

def frame(header, body=b""):
    head = json.dumps(header).encode()
    return struct.pack(">4sII", b"OVS1", len(head), len(body)) + head + body

def send(content):
    while content:
        content = content[os.write(1, content):]

def exactly(size):
    content = b""
    while len(content) < size:
        piece = os.read(0, size - len(content))
        if not piece:
            sys.exit(0)
        content += piece
    return content

def receive():
    magic, head, body = struct.unpack(">4sII", exactly(12))
    header = json.loads(exactly(head))
    exactly(body)
    return header

def bundle():
    exactly(int(exactly(8), 16))
"""

GREET = f"bundle()\nsend(frame({HELLO!r}))\n"


class ProgramTransport(LocalTransport):
    """Starts one Python program, whatever it is asked to start."""

    def __init__(self, prefix: Path, code: str) -> None:
        super().__init__(str(prefix), interpreter=sys.executable)
        self.code = code

    def start(self, argv: Sequence[str], first: bytes = b"") -> ChildProcess:
        return ChildProcess([sys.executable, "-I", "-S", "-c", PREPARE + self.code], first=first)
