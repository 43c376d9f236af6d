"""A running ``watch``, and the moments that it tells."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from tests.e2e.scenario import Work

PATIENCE = 30.0
SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "watch-1.schema.json"


class Watcher:
    """Moments of a ``watch --json``, in their order."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.seen: list[Any] = []
        self._moments: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._moments.put(json.loads(line))

    def next(self, seconds: float = PATIENCE) -> Any:
        """The next moment; fails where none is told in time."""
        try:
            moment = self._moments.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError(f"nothing was told; before: {self.told()}; {self.process.poll()}") from None
        self.seen.append(moment)
        Draft202012Validator(json.loads(SCHEMA.read_text())).validate(moment)
        return moment

    def until(self, event: str, seconds: float = PATIENCE, *, saying: str = "") -> Any:
        """The next moment of this kind, with these words; others are skipped."""
        deadline = time.monotonic() + seconds
        while True:
            moment = self.next(max(deadline - time.monotonic(), 0.01))
            if moment["event"] == event and saying in moment["message"]:
                return moment

    def is_silent(self, seconds: float) -> bool:
        """Whether nothing is told for so long."""
        try:
            self.seen.append(self._moments.get(timeout=seconds))
        except queue.Empty:
            return True
        return False

    def told(self) -> list[str]:
        return [f"{moment['event']}: {moment['message']}" for moment in self.seen]

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        """Interrupts it; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=PATIENCE)


@contextmanager
def watching(
    work: Work, *arguments: str, before: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> Iterator[Watcher]:
    """``watch`` in the background; at its first moment after the start when this returns.

    ``before``: words in front of the command.
    """
    line = ["-C", str(work.project.path), "watch", "--json", "--container", work.target, *work.options]
    process = subprocess.Popen(
        [*before, sys.executable, "-m", "overlaysync", *line, *arguments],
        cwd=work.cli.directory,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        watcher = Watcher(process)
        watcher.until("watching")
        yield watcher
    finally:
        process.kill()
        process.wait()
