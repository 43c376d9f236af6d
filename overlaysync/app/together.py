"""Several runs that go on together at each point, or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable

from overlaysync.errors import AnotherTargetError

Agree = Callable[[], None]
"""Returns where all others have come as far. Raises AnotherTargetError where one of them will not."""


def alone() -> None:
    """An ``Agree`` that asks nobody."""


class Together:
    """So many runs, each in a thread of its own. All of them pass a point, or none does."""

    def __init__(self, count: int) -> None:
        self._changed = threading.Condition()
        self._members = count
        self._waiting = 0
        self._passed = 0  # points
        self._is_given_up = False

    def agree(self) -> None:
        """Waits until all who have not left are here. Raises AnotherTargetError once somebody gave up."""
        with self._changed:
            point = self._passed
            self._waiting += 1
            self._pass_where_all_are_here()
            self._changed.wait_for(lambda: self._is_given_up or self._passed > point)
            if self._passed == point:
                raise AnotherTargetError

    def leave(self) -> None:
        """For a run that has nothing more to agree upon."""
        with self._changed:
            self._members -= 1
            self._pass_where_all_are_here()

    def give_up(self) -> None:
        """No point is passed any more."""
        with self._changed:
            self._is_given_up = True
            self._changed.notify_all()

    def _pass_where_all_are_here(self) -> None:
        if not self._is_given_up and self._waiting == self._members:
            self._waiting = 0
            self._passed += 1
            self._changed.notify_all()
