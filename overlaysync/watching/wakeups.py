"""Where all kinds of events meet: one sleeper, woken by any of them."""

from __future__ import annotations

import threading
import time


class Wakeups:
    """Any thread may wake; one thread waits.

    Nothing is said of what happened: an event can be lost, doubled or late, so that only a look can tell.
    """

    def __init__(self) -> None:
        self.stopped = False
        self._condition = threading.Condition()
        self._first: float | None = None
        self._last = 0.0
        self._changed: float | None = None

    def wake(self) -> None:
        """A file may have changed."""
        self._wake(changed=True)

    def nudge(self) -> None:
        """Something else happened that is worth a look."""
        self._wake(changed=False)

    def _wake(self, *, changed: bool) -> None:
        with self._condition:
            self._last = time.monotonic()
            if self._first is None:
                self._first = self._last
            if changed and self._changed is None:
                self._changed = self._last
            self._condition.notify()

    def stop(self) -> None:
        """The sleeper shall end; any thread may say so."""
        self.stopped = True
        self.nudge()

    def wait(self, seconds: float | None) -> bool:
        """Sleeps until something happens, or so long; whether something did. Ctrl-C gets through."""
        with self._condition:
            return self._condition.wait_for(lambda: self._first is not None, seconds)

    @property
    def changed(self) -> float | None:
        """When the first file changed that nobody took as seen yet (monotonic), or None."""
        return self._changed

    def settle(self, quiet: float, bound: float, since: float | None = None) -> float | None:
        """Waits until nothing has happened for ``quiet`` seconds, at most ``bound`` since the first event.

        What happened until then is taken as seen; what comes later wakes again. ``since``: when the change
        began that this goes on with. Returns when the first file changed, on the monotonic clock, or None
        where none did.
        """
        with self._condition:
            first = self._first
            if first is None:
                return since
            if since is not None:
                first = since
            while (
                not self.stopped and (left := min(self._last + quiet, first + bound) - time.monotonic()) > 0
            ):
                self._condition.wait(left)
            changed, self._first, self._changed = self._changed, None, None
            return changed if since is None else since
