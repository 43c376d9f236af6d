"""A process that tells events line by line, as the command of a container engine does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from overlaysync.errors import OverlaysyncError
from overlaysync.model.seams import Process

AGAIN_SECONDS = (0.5, 30.0)


class LineEvents:
    """Calls ``tell`` with each line of a process, and with an empty one when it ends and is begun again.

    A process that ends is started again, ever more slowly.

    ``start`` gives None where nobody tells anything.
    """

    def __init__(self, start: Callable[[], Process | None], tell: Callable[[str], None]) -> None:
        self._start, self._tell = start, tell
        self._ended = threading.Event()
        self._process: Process | None = None
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        if self._process is not None:
            self._process.kill()

    def _read(self, process: Process) -> None:
        self._process = process
        if not self._ended.is_set():
            for line in process.stdout:
                self._tell(line.decode("utf-8", "replace").strip())
        process.kill()

    def _follow(self) -> None:
        first, most = AGAIN_SECONDS
        pause = first
        while not self._ended.is_set():
            began = time.monotonic()
            try:
                process = self._start()
            except OverlaysyncError:
                pass
            else:
                if process is None:
                    return
                self._read(process)
            self._tell("")  # an engine that ended, or that is back
            pause = first if time.monotonic() - began > most else min(pause * 2, most)
            self._ended.wait(pause)
