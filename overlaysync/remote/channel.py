"""Frames over a process's pipes, with deadlines: a far side that freezes stays silent, so the host counts."""

from __future__ import annotations

import contextlib
import os
import queue
import select
import threading
import time
from typing import Any

from overlaysync.agent import frames
from overlaysync.errors import AgentLostError
from overlaysync.model.seams import Process

PIECE = 64 * 1024
COMPLAINT_LIMIT = 8 * 1024


class Channel:
    """One conversation. ``complaint`` is the end of what the far side wrote to its standard error."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._arrived: queue.Queue[bytes] = queue.Queue(maxsize=64)
        self._rest = b""
        self._first = b""
        self._deadline = 0.0
        self._complaint = b""
        self._closed = False
        os.set_blocking(process.stdin.fileno(), False)
        self._readers = [
            threading.Thread(target=self._pump_output, daemon=True),
            threading.Thread(target=self._pump_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def complaint(self) -> str:
        return self._complaint.decode("utf-8", "replace").strip()

    def send(self, content: bytes, timeout: float) -> None:
        """Writes all of ``content``. Raises AgentLostError when it is not taken within ``timeout`` s."""
        deadline = time.monotonic() + timeout
        rest = memoryview(content)
        handle = self.process.stdin.fileno()
        try:
            while rest:
                _, ready, _ = select.select([], [handle], [], max(0.0, deadline - time.monotonic()))
                if not ready:
                    raise AgentLostError(f"the target took no data for {timeout:.0f} s", _SILENT)
                rest = rest[os.write(handle, rest) :]
        except (BrokenPipeError, ValueError) as error:
            raise AgentLostError("the agent in the target ended", _AGAIN) from error

    def receive(self, timeout: float) -> tuple[dict[str, Any], bytes] | None:
        """The next frame, or None at the end. Raises AgentLostError for silence, FrameError for garbage."""
        self._deadline = time.monotonic() + timeout
        return frames.read(self._take)

    def first_words(self) -> bytes:
        """The first piece that arrived: what a program that is not our agent said instead of a frame."""
        return self._first

    def close(self, timeout: float = 10.0) -> int | None:
        """Ends the conversation; the process's exit code, or None when it had to be killed."""
        self._closed = True
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        exit_code = self.process.wait(timeout)
        if exit_code is None:
            self.process.kill()
        with contextlib.suppress(queue.Empty):
            while True:
                self._arrived.get_nowait()
        for reader in self._readers:
            reader.join(1.0)
        return exit_code

    def _take(self, size: int) -> bytes:
        if not self._rest:
            try:
                self._rest = self._arrived.get(timeout=max(0.0, self._deadline - time.monotonic()))
            except queue.Empty:
                raise AgentLostError("the target does not answer", _SILENT) from None
            self._first = self._first or self._rest
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece

    def _pump_output(self) -> None:
        handle = self.process.stdout.fileno()
        piece = b"start"
        while piece and not self._closed:
            piece = _read(handle)
            while not self._closed:
                with contextlib.suppress(queue.Full):
                    self._arrived.put(piece, timeout=1.0)
                    break

    def _pump_errors(self) -> None:
        handle = self.process.stderr.fileno()
        while piece := _read(handle):
            self._complaint = (self._complaint + piece)[-COMPLAINT_LIMIT:]


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, PIECE)
    except OSError:
        return b""


_SILENT = "look whether the target is paused or overloaded, then run the command again"
_AGAIN = "run the command again: the next contact finishes or rolls back what was interrupted"
