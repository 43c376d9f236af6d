"""One interpreter of the target that runs the inspector: bounded in time and in what it may say."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
import time
from importlib.util import find_spec

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from typing import Any

    from overlaysync.agent.setting import Setting

    Answer = tuple[dict[str, Any] | None, str | None]

ANSWER_LIMIT = 16 * 1024 * 1024
COMPLAINT_LIMIT = 2000
PIECE = 64 * 1024
SET_PIPE_SIZE, PIPE_SIZE = 1031, 1 << 18
"""``F_SETPIPE_SZ`` of Linux, which Python names since 3.10, and room for all that is sent at first."""
TURN = 0.05  # seconds between two looks at whether it has ended
SENT = tuple(
    "overlaysync.agent.%s" % name for name in ("native", "installed", "cores", "inspector", "template")
)
"""Modules that run in the interpreter, each after those that it imports."""

STARTER = """
import sys
if sys.version_info < (3, 8):
    sys.exit("Python %d.%d is older than 3.8" % sys.version_info[:2])
first = sys.path[:1] if sys.path[:1] == [""] else []
del sys.path[:len(first)]  # a json.py in the working directory must not be ours
import marshal
from _frozen_importlib_external import MAGIC_NUMBER
with open(int(sys.argv[-2]), "rb") as stream:
    made_for = stream.readline().decode("ascii").strip()
    can_run_it = made_for == "%s %s" % (sys.implementation.cache_tag, MAGIC_NUMBER.hex())
    for name in sys.argv[2:-2]:
        source, code = [stream.read(int(size)) for size in stream.readline().split()]
        code = marshal.loads(code) if can_run_it else compile(source, "<%s>" % name, "exec")
        sys.modules[name] = type(sys)(name)
        exec(code, sys.modules[name].__dict__)
    sent = [sys.modules.pop(name) for name in sys.argv[2:-2]]
    sys.path[:0] = first
    sent[-1].main(stream, int(sys.argv[-1]), float(sys.argv[1]), sent[-2].answer)
"""


class Patience:
    """How long answers are waited for: some seconds, or until the host speaks or leaves, having given up."""

    def __init__(self, seconds: float, host: int) -> None:
        self._deadline = time.monotonic() + seconds
        self._host = host

    def over(self) -> bool:
        return time.monotonic() > self._deadline or bool(select.select([self._host], [], [], 0)[0])


class Inspection:
    """A started interpreter with a question."""

    def __init__(self, path: bytes, setting: Setting, question: dict[str, Any]) -> None:
        self.path, self.setting, self.asked = path, setting, 0
        self._place = _place(path, setting)
        self._unsent = _sent()
        self._answer = bytearray()
        self._complaint = b""
        reading, self._asking = os.pipe()
        self._answering, writing = os.pipe()
        self._complaining, errors = os.pipe()
        self._process = self._start(reading, writing, errors)
        for handle in (reading, writing, errors):
            os.close(handle)
        os.set_blocking(self._asking, False)
        try:
            fcntl.fcntl(self._asking, SET_PIPE_SIZE, PIPE_SIZE)
        except OSError:
            pass  # it starts more slowly, where the system has no room
        self.ask(question)

    def ask(self, question: dict[str, Any]) -> None:
        self.question = question
        self.asked += 1
        self._unsent += json.dumps(question).encode("ascii") + b"\n"
        self._answer.clear()
        self._send()

    @property
    def group(self) -> int | None:
        """Its process group, in which nothing else of the target is; None where it is over."""
        return None if self._process is None else self._process.pid

    def is_at_its_place(self) -> bool:
        """Whether a start would find the same program and directory now."""
        return self._place == _place(self.path, self.setting)

    def would_start_alike(self) -> bool:
        """Whether it lives, no wrapper started it, and path and directory are what they were.

        Nothing of its start-up hooks may live either, which would be taken for workload.
        """
        process = self._process
        if process is None or process.poll() is not None or not self.is_at_its_place():
            return False
        try:
            program = os.readlink(b"/proc/%d/exe" % process.pid)
            pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        except OSError:
            return False
        alone = all(pid == process.pid or _group_of(pid) != process.pid for pid in pids)
        return alone and program == os.path.realpath(self.path)

    def finish(self, patience: Patience) -> Answer:
        """The answer to what was asked last."""
        late, ending = False, ""
        if self._process is not None:
            late = not self._talk(self._process, patience)
        try:
            answer = json.loads(self._answer.decode("ascii"))
            if isinstance(answer, dict):
                return answer, None
        except (ValueError, RecursionError):
            pass
        if self._process is not None:
            ending = "exit code %d: " % self._kill(self._process)
        last = self._complaint.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no answer"]
        return None, "no answer in time" if late else ending + last[0]

    def end(self) -> None:
        """Nothing is left of it; may be called again."""
        if self._process is not None:
            self._kill(self._process)
        for handle in (self._asking, self._answering, self._complaining):
            if handle >= 0:
                os.close(handle)
        self._asking = self._answering = self._complaining = -1

    def _kill(self, process: subprocess.Popen[bytes]) -> int:
        """The exit code that it had, or has now."""
        self._process = None
        try:
            os.killpg(process.pid, signal.SIGKILL)  # whatever start-up hooks started goes too
        except OSError:
            pass  # all of it has ended
        return process.wait()

    def _start(self, reading: int, writing: int, errors: int) -> subprocess.Popen[bytes] | None:
        setting = self.setting
        try:
            return subprocess.Popen(
                [self.path, b"-B", b"-c", STARTER, str(time.time()), *SENT, str(reading), str(writing)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=setting.environment,
                pass_fds=(reading, writing),
                preexec_fn=setting.become,
                start_new_session=True,
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            where = os.fsdecode(setting.directory)
            self._complaint = os.fsencode("not started in %s as uid %d: %s" % (where, setting.uid, error))
            return None

    def _talk(self, process: subprocess.Popen[bytes], patience: Patience) -> bool:
        """Reads until the answer's line is whole or the process has ended; whether that was in time.

        The end of its pipes is not waited for: what a start-up hook left running may hold them.
        """
        reading = [self._answering, self._complaining]
        while not self._answer.endswith(b"\n") and len(self._answer) <= ANSWER_LIMIT:
            if patience.over():
                return False
            ready, _, _ = select.select(reading, [self._asking] if self._unsent else [], [], TURN)
            if not ready and process.poll() is not None:
                break
            self._send()
            for handle in ready:
                piece = os.read(handle, PIECE)
                if not piece:
                    reading.remove(handle)
                elif handle == self._complaining:
                    self._complaint = (self._complaint + piece)[-COMPLAINT_LIMIT:]
                else:
                    self._answer += piece
        return True

    def _send(self) -> None:
        """Writes what the pipe takes of what was not sent yet."""
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._asking, self._unsent) :]
        except BlockingIOError:
            return
        except OSError:
            self._unsent = b""  # it ended early; its standard error says why


def _sent() -> bytes:
    """The modules that run in the interpreter as ``STARTER`` reads them; they are not loaded here."""
    loader: Any = find_spec(SENT[0]).loader  # type: ignore[union-attr]
    content = b"%s\n" % loader.made_for.encode("ascii")
    for source, code in map(loader.get_both, SENT):
        content += b"%d %d\n" % (len(source), len(code)) + source + code
    return content


def _place(path: bytes, setting: Setting) -> tuple[object, ...]:
    """What a start would find under the names that it is given."""
    try:
        link, directory = os.lstat(path), os.stat(setting.directory)
    except OSError:
        return ()
    stamps = (link.st_ino, link.st_dev, link.st_ctime_ns, directory.st_ino, directory.st_dev)
    return (os.path.realpath(path), *stamps)


def _group_of(pid: int) -> int:
    """The process group of a process; 0 where it has ended."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as stream:
            return int(stream.read().rpartition(b")")[2].split()[2])
    except (OSError, ValueError, IndexError):
        return 0
