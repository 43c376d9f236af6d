"""How long each stage took."""

from __future__ import annotations

import time

from overlaysync.app.options import Stage


class Stages:
    """A ``Stage`` that measures, and tells another one."""

    def __init__(self, tell: Stage) -> None:
        self._tell = tell
        self._started = self._last = time.monotonic()
        self._name: str | None = None
        self._spent: dict[str, float] = {}

    def __call__(self, name: str) -> None:
        self._end()
        self._name = name
        self._tell(name)

    def milliseconds(self) -> dict[str, float]:
        """Milliseconds by stage, and ``total``."""
        self._end()
        self._name = None
        total = (time.monotonic() - self._started) * 1000
        return {**{name: round(spent, 1) for name, spent in self._spent.items()}, "total": round(total, 1)}

    def _end(self) -> None:
        now = time.monotonic()
        if self._name is not None:
            self._spent[self._name] = self._spent.get(self._name, 0.0) + (now - self._last) * 1000
        self._last = now
