"""One fresh interpreter of the target that runs the inspector: bounded in time and in what it may say."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time

from overlaysync.agent import inspector

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from typing import Any

    from overlaysync.agent.interpreters import Setting

ANSWER_LIMIT = 16 * 1024 * 1024
COMPLAINT_LIMIT = 2000
PIECE = 64 * 1024
TURN = 0.05  # seconds between two looks at whether it has ended

STARTER = """
import sys
if sys.version_info < (3, 8):
    sys.exit("Python %d.%d is older than 3.8" % sys.version_info[:2])
with open(int(sys.argv[1]), "rb") as stream:
    source, _, question = stream.read().partition(b"\\0")
names = {"__name__": "overlaysync_inspector"}
exec(compile(source, "<overlaysync inspector>", "exec"), names)
names["main"](question, int(sys.argv[2]))
"""


class Patience:
    """How long answers are waited for: some seconds, or until the host speaks or leaves, having given up."""

    def __init__(self, seconds: float, host: int) -> None:
        self._deadline = time.monotonic() + seconds
        self._host = host

    def over(self) -> bool:
        return time.monotonic() > self._deadline or bool(select.select([self._host], [], [], 0)[0])


class Inspection:
    """A started interpreter with a question; ``finish`` waits for its answer."""

    def __init__(self, path: bytes, setting: Setting, question: dict[str, Any]) -> None:
        source: str = inspector.__loader__.get_source(inspector.__name__)  # type: ignore[union-attr]
        self._question = source.encode("utf-8") + b"\0" + json.dumps(question).encode("ascii")
        self._answer = bytearray()
        self._complaint = b""
        reading, self._asking = os.pipe()
        self._answering, writing = os.pipe()
        self._complaining, errors = os.pipe()
        self._process = self._start(path, setting, reading, writing, errors)
        for handle in (reading, writing, errors):
            os.close(handle)
        os.set_blocking(self._asking, False)
        self._ask()

    def _start(
        self, path: bytes, setting: Setting, reading: int, writing: int, errors: int
    ) -> subprocess.Popen[bytes] | None:
        try:
            return subprocess.Popen(
                [path, b"-B", b"-c", STARTER, str(reading), str(writing)],
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

    def finish(self, patience: Patience) -> tuple[dict[str, Any] | None, str | None]:
        """(answer, None) or (None, what went wrong); nothing of the process is left afterwards."""
        late, ending = False, ""
        if self._process is not None:
            late = not self._talk(self._process, patience)
            try:
                os.killpg(self._process.pid, signal.SIGKILL)  # whatever start-up hooks started goes too
            except OSError:
                pass  # all of it has ended
            ending = "exit code %d: " % self._process.wait()
        for handle in (self._asking, self._answering, self._complaining):
            if handle >= 0:
                os.close(handle)
        try:
            answer = json.loads(self._answer.decode("ascii"))
            if isinstance(answer, dict):
                return answer, None
        except (ValueError, RecursionError):
            pass
        last = self._complaint.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no answer"]
        return None, "no answer in time" if late else ending + last[0]

    def _talk(self, process: subprocess.Popen[bytes], patience: Patience) -> bool:
        """Reads until the answer's line is whole or the process has ended; whether that was in time.

        The end of its pipes is not waited for: what a start-up hook left running may hold them.
        """
        reading = [self._answering, self._complaining]
        while not self._answer.endswith(b"\n") and len(self._answer) <= ANSWER_LIMIT:
            if patience.over():
                return False
            ready, _, _ = select.select(reading, [self._asking] if self._question else [], [], TURN)
            if not ready and process.poll() is not None:
                break
            self._ask()
            for handle in ready:
                piece = os.read(handle, PIECE)
                if not piece:
                    reading.remove(handle)
                elif handle == self._complaining:
                    self._complaint = (self._complaint + piece)[-COMPLAINT_LIMIT:]
                else:
                    self._answer += piece
        return True

    def _ask(self) -> None:
        """Writes what the pipe takes of the question, and closes it after the last byte."""
        try:
            while self._question:
                self._question = self._question[os.write(self._asking, self._question) :]
        except BlockingIOError:
            return
        except OSError:
            self._question = b""  # it ended early; its standard error says why
        if self._asking >= 0:
            os.close(self._asking)
            self._asking = -1
