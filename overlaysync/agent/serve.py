"""The agent's loop: one request, one reply, until the host says goodbye, falls silent or goes away."""

import os
import select
import signal
import stat
import sys
import traceback

from overlaysync.agent import bytecode, frames, interpreters, inventory, processes, settle
from overlaysync.agent.area import Area
from overlaysync.agent.failure import Failure
from overlaysync.agent.frames import to_path, to_text
from overlaysync.agent.transaction import Staging, Transaction
from overlaysync.agent.tree import Tree

IDLE_LIMIT = 900.0  # seconds without a request after which the agent rolls back and ends
EVIDENCE_LIMIT = 4096


class Session(object):
    """What one conversation has open: the install root, the lock, a transaction."""

    def __init__(self):
        self.tree = None
        self.area = None
        self.transaction = None
        self.staging = None
        self.failure = None  # the first trouble while pieces came in; told by the next request

    def close(self):
        """Rolls back what was not recorded and lets go of everything."""
        try:
            if self.transaction is not None:
                self.roll_back({})
        finally:
            if self.tree is not None:
                self.tree.close()
                self.tree = None

    # -- reading ---------------------------------------------------------------------------------------

    def interpreters(self, request):
        return {"interpreters": interpreters.survey(request)}

    def processes(self, request):
        return processes.survey(request)

    def read(self, request):
        """A small regular file named by the configuration, as evidence."""
        try:
            file = os.open(to_path(request["path"]), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(file, "rb") as stream:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    return {"text": None}
                return {"text": stream.read(EVIDENCE_LIMIT).decode("utf-8", "replace")}
        except OSError:
            return {"text": None}

    def open(self, request):
        """Opens the install root under the lock, settles what was interrupted, takes the inventory."""
        self.tree = Tree(os.path.realpath(to_path(request["root"])))
        self.area = Area(self.tree, request["distribution"])
        self.area.lock()
        recovered = settle.recover(self.area)
        answer = inventory.take(self.tree, to_path(request["metadata"]), request["object_format"])
        answer.update(
            root=to_text(self.tree.root),
            metadata=request["metadata"],
            manifest=self.area.read(self.area.manifest)[0],
            recorded_at=self._recorded_at(),
            recovered=recovered,
        )
        return answer

    def _recorded_at(self):
        """When the overlay's manifest was put there, by the target's clock, which its processes go by too."""
        status = self.tree.status(self.area.manifest)
        return None if status is None else status.st_mtime

    def look(self, request):
        suffixes = [suffix.encode("ascii") for suffix in request["suffixes"]]
        return {
            "files": [
                inventory.look(
                    self.tree, to_path(path), request["object_format"], suffixes, request["writable"]
                )
                for path in request["paths"]
            ]
        }

    def read_back(self, request):
        return interpreters.read_back(request)

    # -- writing ---------------------------------------------------------------------------------------

    def begin(self, request):
        self.failure = None
        self.transaction = Transaction(
            self.area, {"id": request["identity"], "operations": request["operations"]}
        )
        self.transaction.begin()
        return {}

    def piece(self, request, body):
        """A piece of one operation's new content; answered only by ``apply``."""
        if self.failure is not None:
            return
        step = self.transaction.steps[request["number"]]
        try:
            if self.staging is None:
                self.staging = Staging(self.transaction, step)
            self.staging.write(body)
            if request["last"]:
                staging, self.staging = self.staging, None
                staging.finish()
        except Failure as failure:
            self.failure = failure
        except OSError as error:
            self.failure = Failure("stage", error.strerror or str(error), to_text(step.path))

    def apply(self, request):
        if self.failure is not None:
            raise self.failure
        self.transaction.apply()
        dropped = self.transaction.dropped
        for prefix in request["pycache_prefixes"]:
            for step in self.transaction.steps:
                removed = bytecode.drop_prefixed(self.tree.root, step.path, to_path(prefix))
                if removed:
                    dropped.setdefault(to_text(step.path), []).extend(to_text(item) for item in removed)
        return {"dropped": dropped}

    def record(self, request):
        settle.record(self.transaction, request["manifest"])
        self.transaction = None
        return {}

    def roll_back(self, _request):
        transaction, self.transaction = self.transaction, None
        if self.staging is not None:
            self.staging.close()
            self.staging = None
        if transaction is not None:
            settle.roll_back(transaction)
        return {}


REQUESTS = (
    "interpreters",
    "processes",
    "read",
    "open",
    "look",
    "read_back",
    "begin",
    "apply",
    "record",
    "roll_back",
)


def answer(session, header):
    """The reply to one request; whatever goes wrong is part of it."""
    reply = {"id": header.get("id")}
    try:
        name = header.get("do")
        if name not in REQUESTS:
            raise Failure("usage", "unknown request %r" % (name,))
        reply["ok"] = getattr(session, name)(header)
    except Failure as failure:
        reply["error"] = {"kind": failure.kind, "message": failure.message, "path": failure.path}
    except OSError as error:
        where = error.filename if error.filename is not None else ""
        reply["error"] = {
            "kind": "system",
            "message": "%s: %r" % (error.strerror or error, where),
            "path": None,
        }
    except Exception:
        reply["error"] = {"kind": "bug", "message": traceback.format_exc(), "path": None}
    return reply


def hello():
    return {
        "protocol": frames.PROTOCOL,
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "executable": sys.executable or "",
        "pid": os.getpid(),
        "uid": os.geteuid(),
        "gid": os.getegid(),
        "machine": os.uname().machine,
    }


def _stop(signum, _frame):
    raise SystemExit(128 + signum)


def main():
    """Serves on the pipes that were inherited, and keeps them from everything that is started from here."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _stop)
    os.umask(0o022)
    incoming, outgoing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)

    def receive(size):
        ready, _, _ = select.select([incoming], [], [], IDLE_LIMIT)
        return os.read(incoming, min(size, 1 << 20)) if ready else b""

    def send(header):
        content = frames.encode(header)
        while content:
            content = content[os.write(outgoing, content) :]

    session = Session()
    try:
        send(hello())
        while True:
            frame = frames.read(receive)
            if frame is None or frame[0].get("do") == "bye":
                break
            header, body = frame
            if header.get("do") == "piece":
                session.piece(header, body)
            else:
                send(answer(session, header))
    except (BrokenPipeError, frames.FrameError):
        pass  # the host is gone; what it left half done is rolled back below
    finally:
        session.close()
