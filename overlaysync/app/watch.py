"""``watch``: a push at each settled change, over one agent that stays connected."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from overlaysync.app.follow import Follower
from overlaysync.app.next_steps import addressed, addressee
from overlaysync.app.options import Options
from overlaysync.app.port import Source
from overlaysync.app.telling import Teller
from overlaysync.config.configuration import WatchConfiguration
from overlaysync.config.loading import load
from overlaysync.model.moment import Moment
from overlaysync.watching.files import FileEvents
from overlaysync.watching.lines import LineEvents
from overlaysync.watching.wakeups import Wakeups
from overlaysync.worktree.repository import locate

SAFETY_SECONDS = 180.0
"""A look without any event, for one that was lost."""
MOST_REST_SECONDS = 2.0
GONE = frozenset({"pause", "die", "destroy"})
"""What an engine tells of a container in which the agent answers no more."""


class Pace(Struct, frozen=True):
    """When a change counts as settled, in seconds; None: as configured. ``poll``: look without events."""

    quiet: float | None = None
    bound: float | None = None
    poll: bool = False


def watch(
    options: Options,
    pace: Pace,
    tell: Callable[[Moment], None],
    source: Source | None = None,
    wakeups: Wakeups | None = None,
) -> None:
    """Follows a worktree until it is stopped. What is wrong at the start is raised; later it is told.

    ``source``: is carried onto the image commit at each change, and pushed from there. ``wakeups``: by which
    another thread can stop it.

    Raises ConfigError, UsageError, TargetError; InterruptedRunError where a push was interrupted.
    """
    with addressed([options]):
        _watch(options, pace, tell, source, wakeups or Wakeups())


def _watch(
    options: Options,
    pace: Pace,
    tell: Callable[[Moment], None],
    source: Source | None,
    wakeups: Wakeups,
) -> None:
    located = locate(str(options.worktree.absolute()))
    quiet, bound = _settled(pace, load(Path(located.root), options.config).watch)
    with ExitStack() as opened:
        teller = Teller(tell, addressee([options]))
        follower = opened.enter_context(Follower(options, located.git_directory, source, teller))
        link = follower.connect()
        files = FileEvents(Path(located.root), Path(located.git_directory), wakeups.wake, poll=pace.poll)
        opened.callback(files.close)

        def engine_tells(event: str) -> None:
            if event in GONE:
                follower.abandon()
            wakeups.nudge()

        engine = LineEvents(link.transport.events, engine_tells)
        opened.callback(engine.close)
        how = "by events" if files.polling is None else f"by polling: {files.polling}"
        teller.say("watching", f"{located.root} for {link.identity.specification}, {how}")
        try:
            _follow(follower, teller, files, wakeups, quiet, bound)
        except KeyboardInterrupt:
            if follower.cut_short:
                raise
            teller.say("ended", "interrupted while nothing was under way; the target keeps what it has")


def _settled(pace: Pace, configured: WatchConfiguration) -> tuple[float, float]:
    """Quiet time and bound, in seconds."""
    quiet, bound = pace.quiet, pace.bound
    return (
        configured.quiet_ms / 1000 if quiet is None else quiet,
        configured.bound_ms / 1000 if bound is None else bound,
    )


def _follow(
    follower: Follower, teller: Teller, files: FileEvents, wakeups: Wakeups, quiet: float, bound: float
) -> None:
    since: float | None = None
    rest = 0.0

    def goes_on() -> bool:
        """Whether files change still, so that a push would have half of it; only so long is it waited for."""
        changed = wakeups.changed if files.polling is None else None  # each tick would be one
        return changed is not None and time.monotonic() < (changed if since is None else since) + bound

    while not wakeups.stopped:
        began = time.monotonic()
        outcome = follower.look(since, goes_on)
        if files.falls_back():
            teller.say("watching", f"from now on by polling: {files.polling}")
        # what changes nothing (logs of a running job, builds) costs at most half of one core, then ever less
        spent = time.monotonic() - began
        rest = 0.0 if outcome.told else min(max(rest * 2, spent), MOST_REST_SECONDS)
        since = since if outcome.unsettled else None
        if _sleep(follower, wakeups, outcome.again or SAFETY_SECONDS, rest):
            since = wakeups.settle(quiet, bound, since)


def _sleep(follower: Follower, wakeups: Wakeups, longest: float, rest: float) -> bool:
    """Until another look is due; whether something happened that may have to settle first."""
    until = time.monotonic() + longest
    while True:
        if wakeups.wait(max(min(until - time.monotonic(), follower.peek_seconds), 0)):
            if rest and not wakeups.stopped:
                time.sleep(rest)
            return True
        if time.monotonic() < until:
            if follower.is_changed_by_others():
                return False
        elif follower.is_held_up():
            until = time.monotonic() + longest
        else:
            return False
