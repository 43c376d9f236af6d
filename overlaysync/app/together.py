"""Several runs that go on together at each point, or not at all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from overlaysync.errors import AnotherTargetError

Agree = Callable[[], float]
"""Returns, where all others have come as far, the seconds that the first of them waited for the last. Raises
AnotherTargetError where one of them will not."""
PATIENCE = 60.0
"""Seconds after which whoever waits gives a sign of life."""
A_WHILE = 2.0
"""Seconds; a single push takes about as long from its look at the target to its last proof. Where
one had to wait longer for another, all of them look again."""
POINTS = 4
"""At which a use case that changes a target agrees: before anything is staged, before anything is renamed,
when all is proven and its record written, and once more, where that took long, when it is proven again."""


def unasked() -> float:
    """An ``Agree`` of a run that is the only one."""
    return 0.0


class Together:
    """So many runs, each in a thread of its own. All of them pass a point, or none does."""

    def __init__(self, count: int) -> None:
        self._changed = threading.Condition()
        self._members = count
        self._waiting = 0
        self._took: list[float] = []  # of each point that was passed, from the first to the last who came
        self._first_came = 0.0
        self._given_up_by: str | None = None

    def agree(self, name: str = "", sign_of_life: Callable[[], object] = lambda: None) -> float:
        """Waits until all who have not left are here; for how many seconds the first of them did.

        ``sign_of_life``: given again and again by who waits long, whose ``name`` it is; whose error ends the
        waiting of all.

        Raises AnotherTargetError once somebody gave up.
        """
        with self._changed:
            point = len(self._took)
            if self._waiting == 0:
                self._first_came = time.monotonic()
            self._waiting += 1
            self._pass_where_all_are_here()
        while not self._is_settled(point):
            try:
                sign_of_life()
            except BaseException:
                if self.give_up(name, point):
                    raise
        if len(self._took) == point:
            raise AnotherTargetError(self._given_up_by or "")
        return self._took[point]

    def _is_settled(self, point: int) -> bool:
        with self._changed:
            return self._changed.wait_for(
                lambda: self._given_up_by is not None or len(self._took) > point, PATIENCE
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
            point: that was not to be passed, by number. Past the last one, records only get their names.
        """
        with self._changed:
            is_in_time = len(self._took) <= point
            if is_in_time:
                self._given_up_by = self._given_up_by or name
                self._changed.notify_all()
            return is_in_time

    def _pass_where_all_are_here(self) -> None:
        if self._given_up_by is None and self._waiting == self._members:
            self._waiting = 0
            self._took.append(time.monotonic() - self._first_came)
            self._changed.notify_all()
