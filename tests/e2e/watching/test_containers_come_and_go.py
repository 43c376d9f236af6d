"""Containers that stop, pause, vanish and are made anew under a watch; workloads that begin and end."""

from __future__ import annotations

import os
import time

import pytest

from overlaysync.agent.template import RACY
from tests.e2e.processes import pid_of
from tests.e2e.scenario import LocalScenario, Scenario, Stage
from tests.e2e.watcher import watching
from tests.parts.containers import Container

pytestmark = pytest.mark.container

NEW_CODE = "generation 2: 1.0"
SERVE = "import sample_pkg.ops, time; open('/tmp/ready', 'w'); time.sleep(600)"


def test_paused_stopped_and_started_again(scenario: Scenario) -> None:
    container = scenario.container
    with watching(scenario) as watcher:
        watcher.until("unchanged")
        container.pause()
        assert "paused" in watcher.until("lost")["message"]
        scenario.edit_generation()
        container.unpause()
        watcher.until("applied")
        assert scenario.answer() == NEW_CODE
        container.stop()
        assert "not running" in watcher.until("lost")["message"]
        container.start()
        watcher.until("unchanged")  # a restart keeps the overlay, which is proven again
        assert scenario.answer() == NEW_CODE
        container.kill()
        watcher.until("lost")
        scenario.edit_generation(3)
        container.start()
        watcher.until("applied")
        assert scenario.answer() == "generation 3: 1.0"


def test_made_anew_twice(stage: Stage) -> None:
    project = stage.project()
    tag = stage.image(project)
    scenario = stage.start(project, tag)
    scenario.edit_generation()
    with watching(scenario) as watcher:
        watcher.until("applied")
        for _ in range(2):
            scenario.container.remove()
            watcher.until("lost")
            stage.containers.run(tag, name=scenario.container.name)
            moment = watcher.until("applied")
            assert "again, into another container" in moment["message"]
            assert scenario.answer() == NEW_CODE


def test_made_anew_from_another_image(stage: Stage) -> None:
    """The label of the other image names a commit that is not HEAD: nothing is applied."""
    project = stage.project()
    tag = stage.image(project)
    scenario = stage.start(project, tag)
    other = stage.images.derived(
        tag, lambda _container: None, labels={"org.opencontainers.image.revision": "1" * 40}
    )
    scenario.edit_generation()
    with watching(scenario) as watcher:
        watcher.until("applied")
        scenario.container.remove()
        watcher.until("lost")
        stage.containers.run(other, name=scenario.container.name)
        moment = watcher.until("refused")
        assert "unknown-commit" in {problem["code"] for problem in moment["result"]["problems"]}
        assert scenario.answer() == "generation 1: 1.0"
        scenario.container.remove()
        stage.containers.run(tag, name=scenario.container.name)
        watcher.until("applied")
        assert scenario.answer() == NEW_CODE


def test_a_workload_is_waited_for(scenario: Scenario) -> None:
    container = scenario.container
    with watching(scenario) as watcher:
        watcher.until("unchanged")
        container.engine.run("exec", "--detach", container.name, "python3", "-c", SERVE)
        while container.exec("stat", "/tmp/ready").returncode != 0:
            time.sleep(0.05)
        scenario.edit_generation()
        moment = watcher.until("waiting")
        assert "sample_pkg.ops" in moment["message"]  # for whom
        scenario.edit_generation(3)
        assert watcher.is_silent(2)
        assert scenario.answer() == "generation 1: 1.0"
        container.exec("kill", pid_of(container, "sample_pkg.ops"), check=True)
        watcher.until("applied")
        assert scenario.answer() == "generation 3: 1.0"


def processes(container: Container) -> list[bytes]:
    """Those in a container, by pid and command line."""
    return container.engine.run("top", container.name, "-eo", "pid,args").stdout.splitlines()


def has_started_anything(container: Container, since: float) -> bool:
    """Whether the engine was asked to start a process in a container since that time."""
    period = ("--since", str(since), "--until", str(time.time()))
    events = container.engine.run("events", *period, "--filter", f"container={container.name}")
    return b" exec_create" in events.stdout


def test_no_process_is_started_for_a_save(scenario: Scenario) -> None:
    """Neither the agent nor the interpreter that proves what is imported; the engine is not asked either."""
    container, began = scenario.container, time.time()
    with watching(scenario) as watcher:
        watcher.until("unchanged")
        scenario.edit_generation(2)
        watcher.until("applied")
        time.sleep(RACY + 1.0)  # what a start of Python reads has to be old, to be known to be the same
        scenario.edit_generation(3)
        watcher.until("applied")
        before, since = processes(container), time.time()
        for generation in (4, 5):
            scenario.edit_generation(generation)
            watcher.until("applied")
            assert processes(container) == before
        assert not has_started_anything(container, since)
        assert has_started_anything(container, began)
    assert scenario.answer() == "generation 5: 1.0"


def test_an_agent_that_is_killed_is_started_again(local: LocalScenario) -> None:
    """The next save finds it gone, and begins another conversation without a word."""
    with watching(local) as watcher:
        watcher.until("unchanged")
        children = f"/proc/{watcher.process.pid}/task/{watcher.process.pid}/children"
        with open(children, encoding="ascii") as file:
            agents = file.read().split()
        assert agents
        for agent in agents:
            os.kill(int(agent), 9)
        local.edit_generation()
        watcher.until("applied")
        assert local.answer() == NEW_CODE
