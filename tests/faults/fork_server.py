"""Agents by the hundred: one Python of the target reads the agent's modules once, and forks for each agent.

What is forked is the real agent, in a process of its own. Nearly all of an agent's start-up is the compiling
of its modules, and a thousand faults need thousands of agents.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from overlaysync.remote.bootstrap import PROGRAM, arguments, bundle
from overlaysync.remote.connecting import connect
from overlaysync.remote.session import AgentSession
from overlaysync.targets.local import LocalTransport
from tests.agent.vocabulary import is_running

SERVE = "main(float(sys.argv[1]))\n"
FORK = """
import array, signal, socket
orders = socket.socket(fileno=int(sys.argv[2]))
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    order, ancillary, _, _ = orders.recvmsg(1, socket.CMSG_SPACE(12))
    if not order:
        sys.exit(0)
    pipes = array.array("i", ancillary[0][2])
    child = os.fork()
    if child == 0:
        try:
            for number, handle in enumerate(pipes):
                os.dup2(handle, number)
            os.closerange(3, 256)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if order == b"t":
                os.kill(os.getpid(), signal.SIGSTOP)
            exactly(int(exactly(8), 16))  # the modules, which are here already
            main(float(sys.argv[1]))
        finally:
            os._exit(0)
    for handle in pipes:
        os.close(handle)
    orders.sendall(b"%d" % child)
"""

Attach = Callable[[int], "subprocess.Popen[bytes]"]
"""Starts a tracer of a process id, which waits stopped until it is traced."""


class ForkedProcess:
    """One agent, with the tracer that is attached to it."""

    def __init__(
        self, pid: int, pipes: Sequence[int], tracer: subprocess.Popen[bytes] | None, unsent: bytes
    ) -> None:
        self.pid, self.tracer, self.unsent = pid, tracer, unsent
        self.stdin: BinaryIO = os.fdopen(pipes[0], "wb", buffering=0)
        self.stdout: BinaryIO = os.fdopen(pipes[1], "rb", buffering=0)
        self.stderr: BinaryIO = os.fdopen(pipes[2], "rb", buffering=0)

    def wait(self, timeout: float) -> int | None:
        """Nothing is told of its end but that it came."""
        deadline = time.monotonic() + timeout
        while is_running(self.pid):
            if time.monotonic() > deadline:
                return None
            time.sleep(0.001)
        if self.tracer is not None:
            self.tracer.wait(timeout)
        return 0

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


class ForkServer(LocalTransport):
    """Starts agents under one Python. Close it."""

    def __init__(self, prefix: Path, python: Path) -> None:
        super().__init__(str(prefix), interpreter=str(python))
        assert SERVE in PROGRAM
        self._orders, theirs = socket.socketpair()
        *options, _program, idle_limit = arguments(900.0)
        with theirs:
            command = [str(python), *options, PROGRAM.replace(SERVE, FORK), idle_limit, str(theirs.fileno())]
            self._server = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[theirs.fileno()])
        assert self._server.stdin is not None
        self._server.stdin.write(bundle())
        self._server.stdin.close()
        self._attach: Attach | None = None

    def session(self, attach: Attach | None = None) -> AgentSession:
        """A conversation with a new agent, which is traced from its beginning."""
        self._attach = attach
        return connect(self)

    def start(self, argv: Sequence[str], first: bytes = b"") -> ForkedProcess:
        theirs, ours = zip(*(_pipe(reads) for reads in (True, False, False)), strict=True)
        socket.send_fds(self._orders, [b"t" if self._attach else b"r"], list(theirs))
        for handle in theirs:
            os.close(handle)
        pid = int(self._orders.recv(20))
        if self._attach is None:
            return ForkedProcess(pid, ours, None, first)
        while _status(pid, "State") != "T":
            time.sleep(0.001)
        tracer = self._attach(pid)
        while _status(pid, "TracerPid") == "0":
            assert tracer.poll() is None, "the tracer ended"
            time.sleep(0.001)
        os.kill(pid, signal.SIGCONT)
        return ForkedProcess(pid, ours, tracer, first)

    def close(self) -> None:
        self._orders.close()
        self._server.wait(10.0)


def _pipe(agent_reads: bool) -> tuple[int, int]:
    """(the agent's end, our end)."""
    reading, writing = os.pipe()
    return (reading, writing) if agent_reads else (writing, reading)


def _status(pid: int, field: str) -> str:
    """The first word of a field (proc_pid_status(5))."""
    words = Path(f"/proc/{pid}/status").read_text().split()
    return words[words.index(f"{field}:") + 1]
