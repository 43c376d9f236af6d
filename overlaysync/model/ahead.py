"""Something that is done while the caller waits for something else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Ahead(Generic[T]):
    """Begins at once, in a thread that keeps no process from ending."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._value: T
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until it has ended, whatever it came to."""
        self._thread.join()

    def ends_within(self, seconds: float) -> bool:
        """Waits no longer than that; whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def result(self) -> T:
        """What it came to. Raises what it raised."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._value

    def _run(self) -> None:
        try:
            self._value = self._work()
        except BaseException as error:
            self._error = error
