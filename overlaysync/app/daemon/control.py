"""The conversation between the commands and the daemon: one line each way over a private Unix socket."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from overlaysync.app.daemon.places import LONGEST_SOCKET
from overlaysync.errors import UsageError

MAXIMUM = 1 << 20
ASK_SECONDS = 10.0

Answers = Mapping[str, Callable[[], dict[str, Any]]]


class Server:
    """Answers requests by name, in a thread of its own. Mode 0600, in a directory of mode 0700."""

    def __init__(self, path: Path, answers: Answers) -> None:
        if len(os.fsencode(path)) > LONGEST_SOCKET:
            raise UsageError(f"{path} is too long for a socket", "set XDG_STATE_HOME to a shorter path")
        self._path, self._answers = path, answers
        path.unlink(missing_ok=True)  # whoever holds the lock knows that nobody listens there
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            self._socket.bind(str(path))
        finally:
            os.umask(before)
        self._socket.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # closed
            with connection, contextlib.suppress(OSError):
                connection.settimeout(ASK_SECONDS)
                request = _line(connection).strip()
                answer = self._answers.get(request)
                reply = answer() if answer is not None else {"error": "no such request"}
                connection.sendall(json.dumps(reply).encode() + b"\n")


def ask(path: Path, request: str) -> dict[str, Any] | None:
    """The daemon's answer; None where none runs."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(ASK_SECONDS)
            connection.connect(str(path))
            connection.sendall(request.encode() + b"\n")
            answer: dict[str, Any] = json.loads(_line(connection))
            return answer
    except (OSError, ValueError):
        return None


def _line(connection: socket.socket) -> str:
    """Bytes up to a line's end, bounded."""
    text = b""
    while b"\n" not in text and len(text) < MAXIMUM:
        piece = connection.recv(65536)
        if not piece:
            break
        text += piece
    return text.decode("utf-8", "replace")
