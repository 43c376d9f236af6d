"""A target's Python that stands between the host and the agent, and changes one of the agent's answers."""

from __future__ import annotations

import sys
from pathlib import Path

PROGRAM = """\
#!{python} -ISB
import json, os, struct, subprocess, sys, time
request, evil = {request!r}, {evil!r}
agent = subprocess.Popen([{real!r}, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

def exactly(handle, size):
    content = b""
    while len(content) < size:
        piece = os.read(handle, size - len(content))
        if not piece:
            sys.exit(0)  # which closes the agent's pipe, so that it rolls back
        content += piece
    return content

def take(handle):
    prefix = exactly(handle, 12)
    _, head, body = struct.unpack(">4sII", prefix)
    return json.loads(exactly(handle, head)), exactly(handle, body)

def frame(header, body=b""):
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack(">4sII", b"OVS1", len(head), len(body)) + head + body

def send(handle, content):
    while content:
        content = content[os.write(handle, content):]

def replaced(value, kind, by):
    if isinstance(value, kind) and not isinstance(value, bool):
        return by
    if isinstance(value, list):
        return [replaced(item, kind, by) for item in value]
    if isinstance(value, dict):
        return {{key: item if key == "id" else replaced(item, kind, by) for key, item in value.items()}}
    return value

def lists(value, times):
    if isinstance(value, list):
        return [lists(item, times) for item in value] * times
    return {{key: lists(item, times) for key, item in value.items()}} if isinstance(value, dict) else value

def hold(reached):  # until the host says anything more, or is gone; then the agent is left alone
    open(reached, "w").close()
    os.read(0, 1)
    sys.exit(0)

into, out = agent.stdin.fileno(), agent.stdout.fileno()
length = exactly(0, 8)
send(into, length + exactly(0, int(length, 16)))
send(1, frame(take(out)[0]))
while True:
    asked, body = take(0)
    send(into, frame(asked, body))
    if asked["do"] == "bye":
        sys.exit(0)
    if asked["do"] not in ("piece", "prepare"):
        reply, _ = take(out)
        send(1, eval(evil) if asked["do"] == request else frame(reply))
"""


def install(prefix: Path, request: str, evil: str) -> None:
    """Puts it in place of the Python that the host starts first; ``bin/python`` stays the real one.

    Args:
        request: of the agent, whose answer is changed.
        evil: an expression for the bytes that are sent in its place; it may use the names of the program.
    """
    first, real = prefix / "bin" / "python3", prefix / "bin" / "python"
    python = str(Path(sys.executable).resolve())
    first.unlink()
    real.unlink()
    real.symlink_to(python)
    first.write_text(PROGRAM.format(python=python, real=str(real), request=request, evil=evil))
    first.chmod(0o755)
