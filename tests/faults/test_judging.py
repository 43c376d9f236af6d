"""The judge of injected faults sees what is wrong: else a report of zeros would say nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from overlaysync.errors import ApplyError, UnfinishedError
from tests.faults.conftest import make_stage
from tests.faults.stage import Stage, WrongOutcomeError

Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One for all: each test begins with a copy of its base."""
    stage = make_stage(tmp_path_factory.mktemp("stage"), "everything at once, on an overlay")
    yield stage
    stage.close()


def done(stage: Stage) -> None:
    with stage.server.session() as session:
        stage.work(stage.copy(stage.base), session)


def test_the_old_tree_and_the_new_one_are_told_apart(stage: Stage) -> None:
    """The control of all that follows."""
    stage.copy(stage.base)
    assert not stage.judge(stage.site(stage.account), ApplyError("nothing was done")).is_new
    done(stage)
    assert stage.judge(stage.site(stage.account), None).is_new


DAMAGE: dict[str, Damage] = {
    "one file of the other tree": lambda root: (root / "sample/helper.py").write_text("HALF = 1\n"),
    "a file that was left": lambda root: (root / "sample/.overlaysync-work-0").write_text(""),
    "a directory that was left": lambda root: (root / "sample/fresh/deeper").mkdir(parents=True),
    "a mode": lambda root: (root / "sample/data.json").chmod(0o600),
    "a time": lambda root: os.utime(root / "sample/__init__.py"),
    "bytecode that is gone": lambda root: next((root / "sample").rglob("__init__*.pyc")).unlink(),
    "our record": lambda root: (root / ".overlaysync/sample/manifest.json").write_text('{"id": "other"}'),
    "a file outside": lambda root: (root.parent / "outside.py").write_text("CHANGED = 1\n"),
    "a new file outside": lambda root: (root.parent / "new.py").write_text("NEW = 1\n"),
    "a lost file outside": lambda root: (root.parent / "elsewhere/sample/engine.py").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_anything_else_is_seen(stage: Stage, damage: Damage) -> None:
    site = stage.copy(stage.base)
    damage(site.root)
    with pytest.raises(WrongOutcomeError):
        stage.judge(site, ApplyError("nothing was done"))


def test_a_false_success_is_seen(stage: Stage) -> None:
    with pytest.raises(WrongOutcomeError, match="told: success"):
        stage.judge(stage.copy(stage.base), None)


def test_a_false_failure_is_seen(stage: Stage) -> None:
    done(stage)
    with pytest.raises(WrongOutcomeError, match="the new tree: True; told: rolled back"):
        stage.judge(stage.site(stage.account), ApplyError("rolled back"))


def test_a_state_that_is_told_wrongly_is_seen(stage: Stage) -> None:
    told = UnfinishedError("not rolled back: sample/helper.py: the new content stands there")
    with pytest.raises(WrongOutcomeError, match=r"the state of 'sample/helper\.py' is told wrongly"):
        stage.judge(stage.copy(stage.base), told)
