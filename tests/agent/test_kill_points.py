"""A kill, or an error of the system, at every system call that changes something: old tree or new tree.

The points are not guessed: an undisturbed run under strace tells them. Most runs take a sample of them, the
tests marked slow take all.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path

import pytest

from overlaysync.errors import AgentLostError, ApplyError, OverlaysyncError
from overlaysync.remote.session import AgentSession, connect
from overlaysync.targets.local import LocalTransport
from tests.agent.tracing import Point, counting, failing, points, trouble_with_strace
from tests.agent.vocabulary import Entry, Site

TROUBLE = trouble_with_strace()
pytestmark = pytest.mark.skipif(TROUBLE is not None, reason=str(TROUBLE))

SAMPLE = 6
ERRORS = ("EIO", "ENOSPC", "EACCES")

Tree = dict[str, Entry]
Work = Callable[[Site, AgentSession], None]


def push(site: Site, session: AgentSession) -> None:
    """All kinds of operations at once, on top of an overlay."""
    edits = [
        site.replace("sample/helper.py", "def helped():\n    return 2\n"),
        site.add("sample/fresh/deep/new.py", "NEW = 1\n"),
        site.remove("sample/lonely/only.py"),
        site.restore("sample/engine.py"),
        site.restore("sample/gone/was.py"),
        site.replace("sample/data.json", '{"heads": 16}\n'),
    ]
    site.push(session, edits, "second")


def revert(site: Site, session: AgentSession) -> None:
    site.push_revert(session)


class Stage:
    """A prepared tree to copy, what the work makes of it, and the points where that can break off."""

    def __init__(self, directory: Path, python: Path, work: Work) -> None:
        self.directory, self.python, self.work = directory, python, work
        self.base = Site(directory / "base" / "site").install()
        self.base.write("sample/gone/was.py", "WAS = 1\n")
        assert [path for path in self.base.compile(python) if "was." in path]
        self.pristine = self.base.snapshot(times=True)
        with self.contact() as session:
            self.base.open(session)
            overlay = [
                self.base.replace("sample/engine.py", "GENERATION = 2\n"),
                self.base.remove("sample/gone/was.py"),
                self.base.replace("sample/data.json", '{"heads": 8}\n'),
            ]
            self.base.push(session, overlay)
        self.old = self.base.snapshot(times=True)
        done = self.copy()
        self.points = self.count(done, work)
        self.new = done.snapshot()
        self.account = done.originals, done.directories

    def contact(self) -> AgentSession:
        return connect(LocalTransport(str(self.directory), interpreter=str(self.python)))

    def copy(self, source: Path | None = None) -> Site:
        root = self.directory / "copy" / "site"
        shutil.rmtree(root.parent, ignore_errors=True)
        root.parent.mkdir()
        subprocess.run(["cp", "-a", source or self.base.root, root], check=True)  # hard links stay links
        return Site(root, dict(self.base.originals), list(self.base.directories))

    def count(self, site: Site, work: Work) -> list[Point]:
        log = self.directory / "log"
        with connect(counting(self.directory, self.python, log)) as session:
            site.open(session)
            work(site, session)
        return points(log, site.root)

    def kill(self, site: Site, work: Work, point: Point) -> None:
        session = connect(failing(self.directory, self.python, point, "signal=SIGKILL"))
        with session, pytest.raises(AgentLostError):
            site.open(session)
            work(site, session)

    def judge(self, site: Site, session: AgentSession, point: Point) -> bool:
        """The tree must be the old or the new one, and everything must work as ever; whether it was new."""
        is_new = site.snapshot() == self.new
        if is_new:
            site.originals, site.directories = dict(self.account[0]), list(self.account[1])
        else:
            assert site.snapshot(times=True) == self.old, point
            site.originals, site.directories = dict(self.base.originals), list(self.base.directories)
            self.work(site, session)
            assert site.snapshot() == self.new, point
        if site.originals:
            site.push_revert(session)
        assert site.snapshot(times=True) == self.pristine, point
        return is_new


@pytest.fixture(params=[push, revert], ids=["push", "revert"])
def stage(request: pytest.FixtureRequest, tmp_path: Path, python: Path) -> Stage:
    return Stage(tmp_path, python, request.param)


def sample(chosen: Sequence[Point]) -> list[Point]:
    """Some of them, spread evenly, the first and the last included."""
    last = len(chosen) - 1
    return [chosen[last * number // (SAMPLE - 1)] for number in range(SAMPLE)]


def kill_at(stage: Stage, chosen: Sequence[Point]) -> None:
    outcomes = set()
    for point in chosen:
        site = stage.copy()
        stage.kill(site, stage.work, point)
        with stage.contact() as session:
            site.open(session)
            outcomes.add(stage.judge(site, session, point))
    assert outcomes == {False, True}


def test_the_points_are_those_of_the_protocol(stage: Stage) -> None:
    names = {point.name for point in stage.points}
    assert names >= {"renameat", "linkat", "unlinkat", "mkdirat", "openat", "fsync", "fchmod", "write"}
    assert len(stage.points) > 60


def test_killed_at_some_points(stage: Stage) -> None:
    kill_at(stage, sample(stage.points))


@pytest.mark.slow
def test_killed_at_every_point(stage: Stage) -> None:
    kill_at(stage, stage.points)


def fail_at(stage: Stage, chosen: Sequence[Point]) -> None:
    outcomes = set()
    for point, error in zip(chosen, cycle(ERRORS)):
        site = stage.copy()
        with connect(failing(stage.directory, stage.python, point, f"error={error}")) as session:
            site.open(session)
            try:
                stage.work(site, session)
            except OverlaysyncError as failure:
                assert isinstance(failure, ApplyError), (point, error, failure)
                session.roll_back()
        with stage.contact() as session:
            assert site.open(session).recovered is None, (point, error)
            outcomes.add(stage.judge(site, session, point))
    assert outcomes == {False, True}


def test_errors_at_some_points(stage: Stage) -> None:
    fail_at(stage, sample(stage.points))


@pytest.mark.slow
def test_an_error_at_every_point(stage: Stage) -> None:
    fail_at(stage, stage.points)


def kill_recovery_at(stage: Stage, choose: Callable[[list[Point]], Sequence[Point]], share: float) -> None:
    """Interrupted at one point, then the recovery is interrupted too, and then comes the next contact."""
    interrupted = stage.copy()
    first = stage.points[int(len(stage.points) * share)]
    stage.kill(interrupted, stage.work, first)
    half_done = stage.directory / "half-done"
    subprocess.run(["cp", "-a", interrupted.root, half_done], check=True)

    recovery = stage.count(stage.copy(half_done), lambda _site, _session: None)
    assert len(recovery) >= SAMPLE
    for point in choose(recovery):
        site = stage.copy(half_done)
        stage.kill(site, lambda _site, _session: None, point)
        with stage.contact() as session:
            site.open(session)
            stage.judge(site, session, point)


@pytest.mark.parametrize("share", [0.6, 0.9], ids=["backwards", "forwards"])
def test_the_recovery_is_killed_at_some_points(stage: Stage, share: float) -> None:
    kill_recovery_at(stage, sample, share)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.65, 0.75, 0.9])
def test_the_recovery_is_killed_at_every_point(stage: Stage, share: float) -> None:
    kill_recovery_at(stage, list, share)
