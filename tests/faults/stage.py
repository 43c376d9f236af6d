"""A prepared tree, what the work makes of it, and one fault at a time that breaks the work off."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from overlaysync.errors import AgentLostError, OverlaysyncError, UnfinishedError
from overlaysync.remote.session import AgentSession
from tests.agent.vocabulary import Entry, Site
from tests.faults.change_sets import ChangeSet
from tests.faults.fork_server import ForkServer
from tests.faults.tracing import Point, points, tracing, was_injected

INSIDE = "site-packages/"

Tree = dict[str, Entry]
Work = Callable[[Site, AgentSession], None]


@dataclass(frozen=True)
class Fault:
    """What strace does to the agent at a point of its work on a copy of ``start``.

    ``recovering``: the contact alone is the work, on what an earlier kill left.
    """

    point: Point
    effect: str
    injections: list[str]
    start: Path
    recovering: bool = False

    @property
    def kills(self) -> bool:
        return "SIGKILL" in self.effect

    def __str__(self) -> str:
        return f"{self.effect} at {self.point}{f' of the recovery, {self.start.name}' * self.recovering}"


@dataclass(frozen=True)
class Outcome:
    """``recovered``: what the next contact said that it did, or None where nothing was left to do."""

    is_new: bool
    recovered: str | None


class WrongOutcomeError(Exception):
    """There is something else than the old tree or the new one, or it was told wrongly."""


def expect(condition: bool, text: str) -> None:
    if not condition:
        raise WrongOutcomeError(text)


class Stage:
    """All lies below ``world``: the install root, and round about it what nobody may touch. Close it.

    ``old``, ``new`` and ``pristine`` are the trees before the work, after it, and after a revert.
    """

    def __init__(self, directory: Path, python: Path, change_set: ChangeSet) -> None:
        self.directory, self.change_set = directory, change_set
        self.world, self.log, self.base = directory / "world", directory / "log", directory / "base"
        self.server = ForkServer(directory, python)
        self.account = site = Site(self.world / "site-packages").install()
        for name in ("outside.py", "site-packages.py", "elsewhere/sample/engine.py"):
            Site(self.world).write(name, "OUTSIDE = 1\n")
        change_set.lay_out(site, python)
        self.pristine, _ = self.look()
        with self.server.session() as session:
            change_set.prepare(site, python, session)
        self.edits = change_set.edits(site)
        self.old, self.around_old = self.look()
        self.keep(self.base)
        done = self.copy(self.base)
        self.points = self.count(done, self.work)
        self.new, self.around_new = self.look()
        self.new_account = done

    def close(self) -> None:
        self.server.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def work(self, site: Site, session: AgentSession) -> None:
        site.open(session)
        self.change_set.work(site, session)

    # -- the world ---------------------------------------------------------------------------------------

    def keep(self, place: Path) -> None:
        subprocess.run(["cp", "-a", self.world, place], check=True)  # hard links stay links

    def copy(self, source: Path) -> Site:
        """The world becomes a copy of ``source``, always at the same place."""
        shutil.rmtree(self.world)
        subprocess.run(["cp", "-a", source, self.world], check=True)
        return self.site(self.account)

    def site(self, account: Site) -> Site:
        return Site(self.world / "site-packages", dict(account.originals), list(account.directories))

    def look(self) -> tuple[Tree, Tree]:
        """The install root, and all that is around it."""
        root, around = {}, {}
        for path, entry in Site(self.world).snapshot(times=True).items():
            if path.startswith(INSIDE):
                root[path[len(INSIDE) :]] = entry
            else:
                around[path] = entry
        return root, around

    # -- undisturbed, and disturbed ----------------------------------------------------------------------

    def count(self, site: Site, work: Work) -> list[Point]:
        """The points of some work, which is done."""
        always = self.change_set.always
        with self.server.session(tracing(self.log, always)) as session:
            work(site, session)
        return points(self.log, self.world, never={name.partition(":")[0] for name in always})

    def suffer(self, site: Site, fault: Fault) -> OverlaysyncError | None:
        """Works under a fault; what was told at last, or None where all went well."""
        injections = [*fault.injections, *self.change_set.always]
        names = {injection.partition(":")[0] for injection in injections}
        told: OverlaysyncError | None = None
        with self.server.session(tracing(self.log, injections, names)) as session:
            try:
                self.contact(site, session) if fault.recovering else self.work(site, session)
            except AgentLostError as error:
                told = error
            except OverlaysyncError as error:
                told = self.roll_back(session, error)
        expect(isinstance(told, AgentLostError) == fault.kills, f"what was told: {told}")
        expect(fault.kills or was_injected(self.log), "the point was not reached")
        return told

    @staticmethod
    def contact(site: Site, session: AgentSession) -> None:
        site.open(session)

    @staticmethod
    def roll_back(session: AgentSession, error: OverlaysyncError) -> OverlaysyncError:
        """As every host does after a failure."""
        try:
            session.roll_back()
        except OverlaysyncError as unfinished:
            return unfinished
        return error

    # -- judging -----------------------------------------------------------------------------------------

    def strike(self, fault: Fault) -> Outcome:
        """Injects a fault and judges what comes of it. Raises WrongOutcomeError."""
        site = self.copy(fault.start)
        told = self.suffer(site, fault)
        return self.judge(site, told, reported=not fault.recovering)

    def judge(
        self,
        site: Site,
        told: OverlaysyncError | None,
        *,
        reported: bool = True,
        repair: Callable[[], None] = lambda: None,
    ) -> Outcome:
        """After some trouble, ``told`` of or not. Raises WrongOutcomeError.

        ``reported``: what was told is about the work. ``repair`` takes away what lasts, after the contact.
        """
        left, _ = self.look()
        if isinstance(told, UnfinishedError):
            self.states_are_told(site, told.message)
        with self.server.session() as session:
            try:
                recovered = site.open(session).recovered
            except UnfinishedError as still:
                self.states_are_told(site, still.message)
                repair()
                told, recovered = still, site.open(session).recovered
            now, around = self.look()
            is_new = untimed(now) == untimed(self.new)
            expect(
                is_new or now == self.old, f"neither the old nor the new tree, by {difference(now, self.old)}"
            )
            self.nothing_else_changed(around, is_new)
            if recovered is None:
                expect(seen(left) == seen(now), "the next contact changed the tree and does not tell")
            goes_with(told, recovered, is_new, reported)
            repair()
            self.works_as_ever(site, session, is_new)
        return Outcome(is_new, recovered)

    def nothing_else_changed(self, around: Tree, is_new: bool) -> None:
        """Bytecode below a prefix may be gone with the old tree too: it is nobody's."""
        expect(around.items() <= self.around_old.items(), "something outside the install root changed")
        expect(around.items() >= self.around_new.items(), "something outside the install root is gone")
        expect(not is_new or around == self.around_new, "bytecode of the old content is left outside")

    def states_are_told(self, site: Site, message: str) -> None:
        """Every path that is not as it was is named, and no other."""
        if "not rolled back" not in message:
            expect(
                "cannot be tidied away" in message or "cannot be settled" in message,
                f"no state is told: {message}",
            )
            return
        for edit in self.edits:
            path = str(edit.operation.destination)
            changed = site.digest(path) != edit.operation.before
            named = any(f"{before}{path}: " in message for before in (": ", "; "))
            expect(named == changed, f"the state of {path!r} is told wrongly: {message}")

    def works_as_ever(self, site: Site, session: AgentSession, is_new: bool) -> None:
        """The next push and the next revert; ``site`` is open."""
        if is_new:
            site = self.site(self.new_account)
        else:
            self.change_set.work(site, session)
            expect(site.snapshot() == untimed(self.new), "the work, done again, gives another tree")
        if site.originals:
            site.push_revert(session)
        now, around = self.look()
        expect(now == self.pristine, f"a revert does not give back {difference(now, self.pristine)}")
        expect(around == self.around_new, "the next runs change something outside the install root")


def goes_with(told: OverlaysyncError | None, recovered: str | None, is_new: bool, reported: bool) -> None:
    """What was told, then and at the next contact, must be what happened."""
    if isinstance(told, UnfinishedError):
        expect(recovered is not None, "the next contact does not tell what it did")
    elif not isinstance(told, AgentLostError):
        expect(recovered is None, f"something was left to do: {recovered}")
        if reported:
            expect(is_new == (told is None), f"the new tree: {is_new}; told: {told or 'success'}")
    if recovered is not None and not recovered.endswith("cleared away"):
        expect(recovered.endswith("finished") == is_new, f"told at the next contact: {recovered}")


def untimed(tree: Tree) -> Tree:
    return {path: entry._replace(mtime_ns=None) for path, entry in tree.items()}


def seen(tree: Tree) -> Tree:
    """Without our own directory, of which empty parts may go unsaid."""
    return {path: entry for path, entry in tree.items() if path.partition("/")[0] != ".overlaysync"}


def difference(one: Tree, other: Tree) -> list[str]:
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))
