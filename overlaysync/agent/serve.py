"""The agent's loop: one request, one reply, until the host says goodbye, falls silent or goes away."""

from __future__ import annotations

import os
import select
import signal
import sys

from overlaysync.agent import frames
from overlaysync.agent.failure import Failure, reason
from overlaysync.agent.request import Request
from overlaysync.agent.session import Session

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from typing import Any, NoReturn

STOPPING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def answer(session: Session, request: Request) -> bytes:
    """The reply to one request, as a frame; whatever goes wrong is part of it."""
    try:
        handler = session.handler(request.name)
        if handler is None:
            raise Failure("usage", "unknown request %.100r" % (request.name,))
        return frames.encode({"id": request.id, "ok": handler(request)})
    except Failure as failure:
        error = {"kind": failure.kind, "message": failure.message, "path": failure.path}
    except OSError as trouble:
        where = "" if trouble.filename is None else ": %r" % (trouble.filename,)
        error = {"kind": "system", "message": reason(trouble) + where, "path": None}
    except frames.FrameError as trouble:
        error = {"kind": "system", "message": "the answer cannot be sent: %s" % trouble, "path": None}
    except Exception:
        import traceback  # takes as long to import as the rest of this module

        error = {"kind": "bug", "message": traceback.format_exc(), "path": None}
    return frames.encode({"id": request.id, "error": error})


def hello() -> dict[str, Any]:
    return {
        "protocol": frames.PROTOCOL,
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "executable": frames.to_text(os.fsencode(sys.executable or "")),
        "pid": os.getpid(),
        "uid": os.geteuid(),
        "gid": os.getegid(),
        "machine": os.uname().machine,
    }


def _stop(signum: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + signum)


def main(idle_limit: float) -> None:
    """Serves on the pipes that were inherited, and keeps them from everything that is started from here.

    ``idle_limit``: seconds without a request after which the agent rolls back and ends.
    """
    for number in STOPPING:
        signal.signal(number, _stop)
    os.umask(0o022)
    incoming, outgoing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)

    def receive(size: int) -> bytes:
        ready, _, _ = select.select([incoming], [], [], idle_limit)
        return os.read(incoming, min(size, 1 << 20)) if ready else b""

    def send(content: bytes) -> None:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(outgoing, rest) :]

    session = Session(incoming)
    try:
        send(frames.encode(hello()))
        _serve(session, receive, send)
    except (BrokenPipeError, frames.FrameError):
        pass  # the host is gone; what it left half done is rolled back below
    finally:
        for number in STOPPING:
            signal.signal(number, signal.SIG_IGN)
        session.end()


def _serve(session: Session, receive: frames.Receive, send: Any) -> None:
    while True:
        frame = frames.read(receive)
        if frame is None:
            return
        header, body = frame
        request = Request(header)
        if request.name == "bye":
            return
        if request.name == "piece":
            session.piece(request, body)
        elif request.name == "prepare":
            session.prepare(request)
        else:
            send(answer(session, request))
