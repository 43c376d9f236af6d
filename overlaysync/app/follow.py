"""One look after the other over one conversation, and what is to be said of each."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path

from msgspec import Struct

from overlaysync.app.contact import Contact, Link, find, find_root, link
from overlaysync.app.options import Options, silent
from overlaysync.app.port import Source, push_carried
from overlaysync.app.push import push_over
from overlaysync.app.reading import find_workload
from overlaysync.app.timing import Stages
from overlaysync.config.configuration import Configuration
from overlaysync.config.loading import load
from overlaysync.errors import (
    AgentBugError,
    AgentLostError,
    ApplyError,
    BaselineError,
    LockedError,
    OverlayDamagedError,
    OverlaysyncError,
    TargetError,
    UsageError,
    WorkloadError,
    WorktreeChangedError,
)
from overlaysync.model.moment import Event, Moment
from overlaysync.model.result import Result, ResultProblem
from overlaysync.state.directories import cache_directory
from overlaysync.worktree.repository import is_git_at_work
from overlaysync.worktree.worktree import open_worktree

WORKLOAD = frozenset({"workload", "workload-unknown"})
HELD_SECONDS = 0.05
GIT_SECONDS = 2.0
"""A lock of git that is older than this is told: it may be left by a git that was killed."""
NAMED = 3

AFTER_ERROR: tuple[tuple[type[OverlaysyncError], Event, float | None], ...] = (
    (LockedError, "waiting", 1.0),
    (WorkloadError, "waiting", 0.5),
    (WorktreeChangedError, "waiting", HELD_SECONDS),
    (ApplyError, "failed", 5.0),
    (BaselineError, "paused", None),
    (TargetError, "lost", 2.0),
    (OverlayDamagedError, "refused", None),
    (UsageError, "refused", None),
)
"""What an error means here, and after how many seconds another look is worth it without any event."""


def after(error: OverlaysyncError) -> tuple[Event, float | None]:
    """What an error is told as, and after how many seconds another look is worth it; None: not by itself."""
    found = ((event, again) for kind, event, again in AFTER_ERROR if isinstance(error, kind))
    return next(found, ("failed", None))


class Outcome(Struct, frozen=True):
    """``told``: the look found something new. ``again``: seconds until another look is due; None for long."""

    told: bool
    again: float | None = None


class Follower:
    """Keeps the conversation with the target, and remembers what was said last. A context manager."""

    def __init__(
        self, options: Options, git_directory: str, source: Source | None, tell: Callable[[Moment], None]
    ) -> None:
        self._options, self._git_directory, self._source = options, git_directory, source
        self._tell = tell
        self._opened = ExitStack()
        self._configuration: Configuration | None = None
        self._link: Link | None = None
        self._contact: Contact | None = None
        self._said: tuple[object, ...] = ()
        self._container: str | None = None
        self._held_since: float | None = None
        self.cut_short = False  # an interrupt came in the middle of a push

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def connect(self) -> Link:
        """The conversation; a new one where there is none, or where the configuration was changed meanwhile.

        Raises ConfigError, UsageError, TargetError.
        """
        configuration = load(find_root(self._options.worktree), self._options.config)
        if configuration != self._configuration:
            self._let_go()
            self._configuration = configuration
        if self._link is None:
            self._link = self._opened.enter_context(link(self._options, silent))
        return self._link

    def abandon(self) -> None:
        """The agent is frozen or gone: nobody waits for its answer any longer. Any thread may call it."""
        if (opened := self._link) is not None:
            opened.session.abort()

    def say(self, event: Event, message: str, **more: object) -> bool:
        """Tells what was not said the last time; whether it was."""
        if (event, message) == self._said:
            return False
        self._said = (event, message)
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        self._tell(Moment(event=event, time=now, message=message, **more))  # type: ignore[arg-type]
        return True

    def look(self, since: float | None) -> Outcome:
        """One look, and the push that follows from it. ``since``: when the change began (monotonic)."""
        if (held := self._held_by_git()) is not None:
            return held
        try:
            return self._told(self._push(), since)
        except AgentBugError:
            raise
        except OverlaysyncError as error:
            return self._error(error)

    def is_held_up(self) -> bool:
        """Whether a look is not worth it yet: the workload still runs, as one cheap question tells."""
        if self._said[:1] != ("waiting",) or self._contact is None:
            return False
        try:
            return bool(find_workload(self._contact, self._contact.distribution.root).processes)
        except OverlaysyncError:
            return False

    # -- one look --------------------------------------------------------------------------------------

    def _push(self) -> Result:
        """Raises what a push raises. A conversation that broke off meanwhile is begun again once."""
        fresh = self._link is None
        try:
            return self._push_once()
        except AgentLostError:
            self._let_go()
            if fresh:
                raise
            return self._push_once()

    def _push_once(self) -> Result:
        options, stages = self._options, Stages(silent)
        contact = self._contact = find(self.connect())
        if self._source is None:
            return self._push_from(options, contact, stages)
        return push_carried(
            contact, options, self._source, stages, lambda there: self._push_from(there, contact, stages)
        )

    def _push_from(self, options: Options, contact: Contact, stages: Stages) -> Result:
        with open_worktree(options.worktree, cache_directory(), capture=True) as worktree:
            try:
                result = push_over(contact, worktree, options, stages, hold=self._refuse_git)
            except KeyboardInterrupt:
                self.cut_short = True
                raise
            except AgentLostError:
                raise
            except OverlaysyncError:
                contact.session.release()
                raise
        contact.session.release()
        return result

    def _let_go(self) -> None:
        self._opened.close()
        self._link = self._contact = None

    def _held_by_git(self) -> Outcome | None:
        """A git command that changes many files is one change: nothing is looked at while it works."""
        if not is_git_at_work(self._git_directory):
            self._held_since = None
            return None
        now = time.monotonic()
        self._held_since = self._held_since or now
        if now - self._held_since < GIT_SECONDS:
            return Outcome(told=True, again=HELD_SECONDS)
        lock = Path(self._git_directory, "index.lock")
        told = self.say(
            "paused",
            f"git is at work in the worktree ({lock})",
            next_step="if no git runs, one was killed: remove the file",
        )
        return Outcome(told=told, again=1.0)

    def _refuse_git(self) -> None:
        if is_git_at_work(self._git_directory):
            raise WorktreeChangedError("git began to change the worktree", "wait for it to end")

    # -- what is said of it ----------------------------------------------------------------------------

    def _told(self, result: Result, since: float | None) -> Outcome:
        if result.outcome == "applied":
            return Outcome(told=self._say_applied(result, since))
        if result.outcome == "unchanged":
            self._remember(result)
            return Outcome(told=self._say_unchanged(result))
        codes = {problem.code for problem in result.problems}
        first = result.problems[0]
        waits = codes <= WORKLOAD
        event: Event = "waiting" if waits else "paused" if "head-differs" in codes else "refused"
        shown = [_sentence(problem) for problem in result.problems[:NAMED]]
        more = len(result.problems) - len(shown)
        message = "; ".join([*shown, f"and {more} more"] if more else shown)
        told = self.say(event, message, next_step=first.next_step, result=result)
        return Outcome(told=told, again=0.5 if waits else None)

    def _say_applied(self, result: Result, since: float | None) -> bool:
        names = [operation.source for operation in result.operations]
        shown = ", ".join([*names[:NAMED], f"and {len(names) - NAMED} more"] if len(names) > NAMED else names)
        latency = None if since is None else round((time.monotonic() - since) * 1000, 1)
        again = " again, into another container" if self._remember(result) else ""
        self._said = ()  # two alike are two
        return self.say("applied", f"applied{again}: {shown}", latency_ms=latency, result=result)

    def _say_unchanged(self, result: Result) -> bool:
        if self._said[:1] in (("applied",), ("unchanged",)):
            return False
        return self.say("unchanged", "the worktree's state is in the target, proven", result=result)

    def _remember(self, result: Result) -> bool:
        """Whether the container is another than before."""
        container = result.target.container_id if result.target is not None else None
        before, self._container = self._container, container
        return before not in (None, container)

    def _error(self, error: OverlaysyncError) -> Outcome:
        event, again = after(error)
        if event == "lost":
            self._let_go()
        if isinstance(error, WorktreeChangedError):
            return Outcome(told=False, again=again)  # it goes on by itself
        return Outcome(told=self.say(event, error.message, next_step=error.next_step), again=again)


def _sentence(problem: ResultProblem) -> str:
    named = problem.path is None or problem.path in problem.message
    return problem.message if named else f"{problem.path}: {problem.message}"
