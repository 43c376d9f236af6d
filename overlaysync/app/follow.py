"""One look after the other over one conversation with the target."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from overlaysync.app.calling import Link, find_root, link
from overlaysync.app.contact import Contact, find, without_preparation
from overlaysync.app.looking import Looking
from overlaysync.app.options import Options, silent
from overlaysync.app.others import Others
from overlaysync.app.port import Source, over_carried
from overlaysync.app.push import push_over
from overlaysync.app.reading import find_workload
from overlaysync.app.records import digest_of_diff
from overlaysync.app.several import Run
from overlaysync.app.survey import Situation
from overlaysync.app.telling import HELD_SECONDS, UNSEEN, Outcome, Teller, after
from overlaysync.app.timing import Stages
from overlaysync.config.configuration import Configuration
from overlaysync.config.loading import load
from overlaysync.core.origin import other_origin
from overlaysync.core.planning import is_in_place
from overlaysync.errors import (
    AgentBugError,
    AgentLostError,
    OverlaysyncError,
    SupersededError,
    WorktreeChangedError,
)
from overlaysync.model.result import Result
from overlaysync.model.worktree import Sha256
from overlaysync.worktree.recent_blobs import RecentBlobs
from overlaysync.worktree.repository import is_git_at_work

GIT_SECONDS = 2.0
"""A lock of git that is older than this is told: it may be left by a git that was killed."""

PEEK_SECONDS, SELDOM_SECONDS = 5.0, 60.0
"""Between two questions whether somebody else changed the target; what a watch without work costs, beside a
look every few minutes."""


class Follower:
    """Keeps the conversation with the target. A context manager."""

    def __init__(self, options: Options, git_directory: str, source: Source | None, teller: Teller) -> None:
        self._options, self._git_directory, self._source = options, git_directory, source
        self._teller = teller
        self._opened = ExitStack()
        self._recent = RecentBlobs()
        self._configuration: Configuration | None = None
        self._link: Link | None = None
        self._contact: Contact | None = None
        self._held_since: float | None = None
        self._seen: Sha256 | None = None  # the difference, by its digest
        self._wishes = True  # to have it in the target: from the start or a change until it is there
        self._superseded: str | None = None  # by what, since the last wish
        self._origin: str | None = None  # and by whom
        self._container: tuple[str, str] | None = None  # where it was put, and since when that runs
        self._others = Others()
        self._goes_on: Callable[[], bool] = lambda: False
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
            self._configuration, self._wishes = configuration, True
        if self._link is None:
            self._link = self._opened.enter_context(link(self._options))
        return self._link

    def abandon(self) -> None:
        """The agent is frozen or gone: nobody waits for its answer any longer. Any thread may call it."""
        if (opened := self._link) is not None:
            opened.session.abort()

    def look(self, since: float | None, goes_on: Callable[[], bool]) -> Outcome:
        """One look, and the push that follows from it.

        Args:
            since: when the change began (monotonic); None for a look without one.
            goes_on: whether the change has gone on since; half of one is not pushed.
        """
        self._goes_on = goes_on
        if (held := self._held_by_git()) is not None:
            return held
        try:
            result = self._push()
        except AgentBugError:
            raise
        except OverlaysyncError as error:
            if after(error)[0] == "lost":
                self._let_go()
            return self._teller.error(error, UNSEEN if self._others.noticed else None)
        if result.outcome in ("applied", "unchanged"):
            self._wishes, self._container = False, self._running()
        return self._teller.result(result, since)

    def is_held_up(self) -> bool:
        """Whether a look is not worth it yet: the workload still runs, as one cheap question tells."""
        if self._teller.last != "waiting" or self._contact is None:
            return False
        try:
            return bool(find_workload(self._contact, self._contact.distribution.root).processes)
        except OverlaysyncError:
            return False

    @property
    def peek_seconds(self) -> float:
        """After how long it is worth to ask that again; of what was superseded nothing is claimed."""
        return PEEK_SECONDS if self._superseded is None else SELDOM_SECONDS

    def is_changed_by_others(self) -> bool:
        """Whether somebody else changed the target since the last look, or it answers no more."""
        return self._others.have_changed(self._contact)

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
        if self._source is None:
            with closing(Looking(options, capture=True, recent=self._recent)) as looking:
                return self._push_from(Run(find(self.connect()), options, stages), looking)
        run = Run(find(without_preparation(self.connect())), options, stages)

        def push_there(run: Run) -> Result:
            return self._push_from(run, Looking(run.options, capture=True, recent=self._recent))

        return over_carried("push", run, self._source, push_there)

    def _push_from(self, run: Run, looking: Looking) -> Result:
        """The target's lock is let go of, but where the whole conversation ends."""
        self._contact = run.target
        self._others.look_begins()
        try:
            with looking as worktree:
                result = push_over(run, worktree, hold=self._hold)
        except KeyboardInterrupt:
            self.cut_short = True
            raise
        except AgentLostError:
            raise
        except OverlaysyncError:
            self._others.look_ended(run.target.session.release())
            raise
        self._others.look_ended(run.target.session.release())
        return result

    def _running(self) -> tuple[str, str] | None:
        """Which container it is, and since when it runs: a start may bring the image's own files back."""
        identity = self._link.identity if self._link is not None else None
        return None if identity is None else (identity.itself, identity.started_at)

    def _let_go(self) -> None:
        self._opened.close()
        self._link = self._contact = None
        self._others.forget()

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
        told = self._teller.say(
            "paused",
            f"git is at work in the worktree ({lock})",
            next_step="if no git runs, one was killed: remove the file",
        )
        return Outcome(told=told, again=1.0)

    def _hold(self, situation: Situation) -> None:
        """Raises WorktreeChangedError for half a change, SupersededError where it is another's turn."""
        self._others.has_read()
        if is_git_at_work(self._git_directory):
            raise WorktreeChangedError("git began to change the worktree", "wait for it to end")
        if self._goes_on():
            raise WorktreeChangedError("more files changed meanwhile", "wait for the change to end")
        self._give_way(situation)

    def _give_way(self, situation: Situation) -> None:
        """What others did there stays until something changes here: that is a wish, a look is none."""
        reading, seen = situation.reading, digest_of_diff(situation.reading.snapshot.changes)
        self._wishes, self._seen = self._wishes or seen != self._seen, seen
        if self._wishes or is_in_place(situation.plan, reading.overlay):
            self._superseded = self._origin = None
            return
        there = reading.manifest
        origin = None if there is None else other_origin(there, reading.snapshot.repository)
        if there is not None and origin not in (None, self._origin):  # whose next pushes are no news
            self._origin = origin
            self._superseded = (
                "another worktree's overlay took this one's place in the target, "
                f"pushed from {origin} at {there.time}"
            )
        elif there is None and self._superseded is None and self._container == self._running():
            self._superseded = "the overlay was taken away from the target, as by overlaysync revert"
        if self._superseded is not None:
            raise SupersededError(
                self._superseded,
                "to have this one's there again: change a file here, or run overlaysync push",
            )
