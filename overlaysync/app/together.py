"""Several runs that go on together at each point, or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable

from overlaysync.errors import AnotherTargetError

Agree = Callable[[], None]
"""Returns where all others have come as far. Raises AnotherTargetError where one of them will not."""


POINTS = 3
"""At which a use case that changes a target agrees: before anything is staged, renamed, recorded."""


def unasked() -> None:
    """An ``Agree`` of a run that is the only one."""


class Together:
    """So many runs, each in a thread of its own. All of them pass a point, or none does."""

    def __init__(self, count: int) -> None:
        self._changed = threading.Condition()
        self._members = count
        self._waiting = 0
        self._passed = 0  # points
        self._given_up_by: str | None = None

    def agree(self) -> None:
        """Waits until all who have not left are here. Raises AnotherTargetError once somebody gave up."""
        with self._changed:
            point = self._passed
            self._waiting += 1
            self._pass_where_all_are_here()
            self._changed.wait_for(lambda: self._given_up_by is not None or self._passed > point)
            if self._passed == point:
                raise AnotherTargetError(self._given_up_by or "")

    def leave(self) -> None:
        """For a run that has nothing more to agree upon."""
        with self._changed:
            self._members -= 1
            self._pass_where_all_are_here()

    def give_up(self, name: str) -> None:
        """No point is passed any more. ``name``: of the first that could not go on."""
        with self._changed:
            self._given_up_by = self._given_up_by or name
            self._changed.notify_all()

    @property
    def is_decided(self) -> bool:
        """Whether all have passed the last point: they only write down what they did."""
        return self._passed >= POINTS

    def _pass_where_all_are_here(self) -> None:
        if self._given_up_by is None and self._waiting == self._members:
            self._waiting = 0
            self._passed += 1
            self._changed.notify_all()
