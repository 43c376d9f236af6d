"""Several runs that go on together at each point, or not at all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from overlaysync.errors import AnotherTargetError

Agree = Callable[[], float]
"""Returns, where all others have come as far, the seconds that it took. Raises AnotherTargetError where one
of them will not."""
PATIENCE = 60.0
"""Seconds after which whoever waits gives a sign of life."""
A_WHILE = 2.0
"""Seconds; a single push takes about as long from its look at the target to its last proof. Who waited longer
looks again."""
POINTS = 4
"""At which a use case that changes a target agrees: before anything is staged, before anything is renamed,
when all is proven and its record written, and once more when who waited for that has proven it again."""


def unasked() -> float:
    """An ``Agree`` of a run that is the only one."""
    return 0.0


class Together:
    """So many runs, each in a thread of its own. All of them pass a point, or none does."""

    def __init__(self, count: int) -> None:
        self._changed = threading.Condition()
        self._members = count
        self._waiting = 0
        self._passed = 0  # points
        self._given_up_by: str | None = None

    def agree(self, name: str = "", sign_of_life: Callable[[], object] = lambda: None) -> float:
        """Waits until all who have not left are here; for how many seconds.

        ``sign_of_life``: given again and again by who waits long, whose ``name`` it is; whose error ends the
        waiting of all.

        Raises AnotherTargetError once somebody gave up.
        """
        began = time.monotonic()
        with self._changed:
            point = self._passed
            self._waiting += 1
            self._pass_where_all_are_here()
        while not self._is_settled(point):
            try:
                sign_of_life()
            except BaseException:
                if self.give_up(name, point):
                    raise
        if self._passed == point:
            raise AnotherTargetError(self._given_up_by or "")
        return time.monotonic() - began

    def _is_settled(self, point: int) -> bool:
        with self._changed:
            return self._changed.wait_for(
                lambda: self._given_up_by is not None or self._passed > point, PATIENCE
            )

    def leave(self) -> None:
        """For a run that has nothing more to agree upon."""
        with self._changed:
            self._members -= 1
            self._pass_where_all_are_here()

    def give_up(self, name: str, point: int = POINTS - 1) -> bool:
        """No point is passed any more; whether that came in time.

        Args:
            name: of the first that could not go on.
            point: that was not to be passed, by number. Past the last one, runs only write their records.
        """
        with self._changed:
            is_in_time = self._passed <= point
            if is_in_time:
                self._given_up_by = self._given_up_by or name
                self._changed.notify_all()
            return is_in_time

    def _pass_where_all_are_here(self) -> None:
        if self._given_up_by is None and self._waiting == self._members:
            self._waiting = 0
            self._passed += 1
            self._changed.notify_all()
