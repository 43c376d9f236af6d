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
SILENT = "look whether the target is paused or overloaded, then run the command again"
AGAIN = "run the command again: the next contact finishes or rolls back what was interrupted"
TURN = 0.1  # seconds between two looks at whether another thread ended the conversation
CLOSING_SECONDS = 10.0  # enough for a roll back; one that takes longer is finished by the next contact


class Channel:
    """One conversation, with one thread for each stream of the process. Any thread may close it."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._arrived: queue.Queue[bytes] = queue.Queue(maxsize=64)
        self._rest = b""
        self._deadline = 0.0
        self._said = b""
        self._complaint = b""
        self._closed = False
        self._sending = threading.Lock()
        os.set_blocking(process.stdin.fileno(), False)
        self._readers = [
            threading.Thread(target=self._pump_output, daemon=True),
            threading.Thread(target=self._pump_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def said(self) -> bytes:
        """The beginning of its output; all of it where it was short, once the channel is closed."""
        return self._said

    @property
    def complaint(self) -> str:
        """The end of what it wrote to its standard error."""
        return self._complaint.decode("utf-8", "replace").strip()

    def send(self, content: bytes, timeout: float) -> None:
        """Writes all of ``content``. Raises AgentLostError when it is not taken within ``timeout`` s."""
        deadline = time.monotonic() + timeout
        late = AgentLostError(f"the target took no data for {timeout:.0f} s", SILENT)
        if not self._sending.acquire(timeout=timeout):
            raise late
        try:
            self._refuse_where_closed()
            rest, handle, writable = memoryview(content), self.process.stdin.fileno(), select.poll()
            writable.register(handle, select.POLLOUT)
            while rest:
                if writable.poll(TURN * 1000):
                    with contextlib.suppress(BlockingIOError):
                        rest = rest[os.write(handle, rest) :]
                elif time.monotonic() > deadline:
                    raise late
                self._refuse_where_closed()
        except OSError as error:
            raise AgentLostError("the agent in the target ended", AGAIN) from error
        finally:
            self._sending.release()

    def _refuse_where_closed(self) -> None:
        if self._closed:
            raise AgentLostError("the conversation with the agent is over", AGAIN)

    def receive(self, timeout: float) -> tuple[dict[str, Any], bytes] | None:
        """The next frame, or None at the end. Raises AgentLostError for silence, FrameError for garbage."""
        self._deadline = time.monotonic() + timeout
        return frames.read(self._take)

    def close(self, timeout: float = CLOSING_SECONDS) -> int | None:
        """Ends the conversation; the process's exit code, or None when it had to be killed."""
        self._closed = True  # which ends what is being sent
        with self._sending, contextlib.suppress(OSError):
            self.process.stdin.close()
        exit_code = self.process.wait(timeout)
        if exit_code is None:
            self.process.kill()
        for reader, stream in zip(self._readers, (self.process.stdout, self.process.stderr), strict=True):
            reader.join(1.0)
            if not reader.is_alive():  # else something that it left running holds the other end
                stream.close()
        return exit_code

    def _take(self, size: int) -> bytes:
        self._rest = self._rest or self._next()
        if time.monotonic() > self._deadline:
            raise AgentLostError("the target does not answer in time", SILENT)
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece

    def _next(self) -> bytes:
        """What has arrived; nothing at the end, and where that is late."""
        while time.monotonic() < self._deadline:
            with contextlib.suppress(queue.Empty):
                return self._arrived.get(timeout=max(0.0, min(TURN, self._deadline - time.monotonic())))
            self._refuse_where_closed()
        return b""

    def _pump_output(self) -> None:
        """Reads to the very end, so that the process is never kept from ending by a full pipe."""
        handle = self.process.stdout.fileno()
        piece = b"start"
        while piece:
            piece = _read(handle)
            self._said += piece[: COMPLAINT_LIMIT - len(self._said)]
            while not self._closed:
                with contextlib.suppress(queue.Full):
                    self._arrived.put(piece, timeout=0.2)
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
