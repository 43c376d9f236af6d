"""How often Python looks for what is kept by nothing but itself."""

from __future__ import annotations

import gc

USUAL = gc.get_threshold()
SELDOM = (100_000, 20, 100)


def collect_seldom() -> None:
    """For most commands: almost nothing of what one makes goes before it ends.

    Looking for that at the usual pace took a fourteenth of a push.
    """
    gc.set_threshold(*SELDOM)


def collect_often() -> None:
    """At Python's own pace: what runs for weeks must not keep what goes."""
    gc.set_threshold(*USUAL)
