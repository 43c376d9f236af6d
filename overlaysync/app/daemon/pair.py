"""One pair of the daemon: a watch in a thread of its own, begun again whenever it ends with an error."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from msgspec import Struct, structs

from overlaysync.app.options import Options
from overlaysync.app.port import Source
from overlaysync.app.telling import after, moment
from overlaysync.app.watch import Pace, watch
from overlaysync.config.daemon import PairConfiguration
from overlaysync.core.moments import told
from overlaysync.errors import OverlaysyncError
from overlaysync.model.moment import Event, Moment
from overlaysync.watching.wakeups import Wakeups

AGAIN_SECONDS = 5.0
Tell = Callable[[str, str], None]
"""Told the name of a pair, and a line about it."""


class PairState(Struct, frozen=True):
    """What a pair does now, as ``daemon status`` shows it."""

    name: str
    worktree: str
    target: str
    event: str = "starting"
    message: str = ""
    next_step: str | None = None
    since: str | None = None  # RFC 3339, UTC
    last_push: str | None = None
    pushes: int = 0


class Pair:
    """Its thread ends with ``stop``; no trouble of it reaches another pair."""

    def __init__(self, configuration: PairConfiguration, tell: Tell) -> None:
        self._configuration, self._tell = configuration, tell
        self._wakeups = Wakeups()
        self.state = PairState(configuration.name, str(configuration.directory), configuration.target)
        self._thread = threading.Thread(target=self._run, name=configuration.name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._wakeups.stop()

    def join(self, seconds: float) -> bool:
        """Whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        given = self._configuration
        options = Options(
            worktree=given.directory,
            container=given.target,
            distribution=given.distribution,
            interpreter=given.interpreter,
            user=given.user,
            image_commit=given.image_commit,
        )
        while not self._wakeups.stopped:
            try:
                watch(options, Pace(), self._note, Source() if given.port else None, self._wakeups)
            except OverlaysyncError as error:
                self._trouble(after(error)[0], error.message, error.next_step)
            except Exception as error:  # a bug of ours ends this look, not the daemon
                self._trouble("failed", f"a bug of overlaysync: {type(error).__name__}: {error}", None)
            self._pause()
        self._tell(given.name, "stopped")

    def _pause(self) -> None:
        """Waits before another try; whatever wakes meanwhile does not count but for the end."""
        until = time.monotonic() + AGAIN_SECONDS
        while not self._wakeups.stopped and time.monotonic() < until:
            time.sleep(0.1)

    def _note(self, moment: Moment) -> None:
        applied = moment.event == "applied"
        self.state = structs.replace(
            self.state,
            event=moment.event,
            message=moment.message,
            next_step=moment.next_step,
            since=moment.time,
            last_push=moment.time if applied else self.state.last_push,
            pushes=self.state.pushes + applied,
        )
        step = f" → {moment.next_step}" if moment.next_step else ""
        self._tell(self.state.name, f"{told(moment.event, moment.message)}{step}")

    def _trouble(self, event: Event, message: str, next_step: str | None) -> None:
        if (event, message) == (self.state.event, self.state.message):
            return  # told once
        self._note(moment(event, message, next_step=next_step))
