"""What ``watch`` tells: one moment after the other (``overlaysync.watch/1``)."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from overlaysync.model.result import Result

Event = Literal["watching", "applied", "unchanged", "refused", "waiting", "paused", "failed", "lost", "ended"]


class Moment(Struct, frozen=True):
    """Something worth telling.

    ``latency_ms``: from the first event of what was applied to its proof. ``result``: that of the push.
    ``in_target``: what the target has, where that is not what was proven last, or not known.
    """

    event: Event
    time: str  # RFC 3339, UTC
    message: str
    next_step: str | None = None
    latency_ms: float | None = None
    result: Result | None = None
    in_target: str | None = None
    schema: Literal["overlaysync.watch/1"] = "overlaysync.watch/1"
