"""The container, and the engine's client, taken away when the files are in place and nothing is recorded."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.e2e.faults.test_host import ended, start
from tests.e2e.scenario import Scenario, Stage, check_answer, codes
from tests.e2e.test_sequence import sources
from tests.e2e.watcher import watching
from tests.parts.command_line import Result
from tests.parts.containers import Container
from tests.parts.hooks import hook_files

pytestmark = pytest.mark.container

HANG = """
import os, time
place = {site!r} + "/sample_pkg/engine.py"
if os.path.exists("/tmp/armed") and "GENERATION = 2" in open(place).read():
    os.rename("/tmp/armed", "/tmp/reached")
    time.sleep(30)
"""
"""A start-up hook: the Python that is to prove the new file hangs, once."""

Fault = Callable[[Scenario, "subprocess.Popen[str]"], object]


def hook(container: Container) -> None:
    site = container.python("import sysconfig; print(sysconfig.get_path('purelib'))")
    for name, text in hook_files(HANG.format(site=site)).items():
        container.write(f"{site}/{name}", text)


def kill_client(_scenario: Scenario, process: subprocess.Popen[str]) -> None:
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        for client in file.read().split():
            os.kill(int(client), signal.SIGKILL)


def pause(scenario: Scenario, process: subprocess.Popen[str]) -> None:
    """A frozen far side is silent, so that somebody loses patience."""
    scenario.container.pause()
    process.send_signal(signal.SIGINT)
    process.wait(60)
    scenario.container.unpause()


def stop(scenario: Scenario, _process: subprocess.Popen[str]) -> None:
    scenario.container.stop()
    scenario.container.start()


def kill(scenario: Scenario, _process: subprocess.Popen[str]) -> None:
    scenario.container.kill()
    scenario.container.start()


def restart(scenario: Scenario, _process: subprocess.Popen[str]) -> None:
    scenario.container.engine.run("restart", "--time", "0", scenario.container.name)


def remove(scenario: Scenario, _process: subprocess.Popen[str]) -> None:
    scenario.container.remove()


FAULTS: Mapping[str, Fault] = {
    "client killed": kill_client,
    "paused": pause,
    "stopped": stop,
    "killed": kill,
    "restarted": restart,
    "removed": remove,
}


def interrupted(scenario: Scenario, fault: Fault) -> Result:
    """How a push ended, in the middle of which the fault came."""
    scenario.edit_generation()
    scenario.container.exec("touch", "/tmp/armed", check=True)
    process = start(scenario)
    deadline = time.monotonic() + 90
    while scenario.container.exec("stat", "/tmp/reached").returncode:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
    fault(scenario, process)
    return ended(process)


def recovers(scenario: Scenario, before: Any) -> None:
    assert scenario.ask("status")["problems"] == []
    assert sources(scenario.files()) == before
    scenario.applied()
    assert scenario.answer() == "generation 2: 1.0"
    assert scenario.ask("revert")["outcome"] == "applied"
    assert sources(scenario.files()) == before


@pytest.mark.parametrize("name", [name for name in FAULTS if name != "removed"])
def test_a_container_that_is(stage: Stage, name: str) -> None:
    scenario = stage.set(prepare=hook)
    before = sources(scenario.files())
    answer = check_answer(interrupted(scenario, FAULTS[name]))
    assert answer["outcome"] == "failed"
    assert answer["exit_code"] == (130 if name == "paused" else 7)
    assert len(answer["problems"]) == 1
    if name in ("killed", "restarted", "stopped"):
        told = scenario.ask("status")["details"]["recovered"]
        assert told == "an interrupted transaction was rolled back"
    recovers(scenario, before)


def test_one_that_is_removed_and_made_anew(stage: Stage) -> None:
    project = stage.project()
    tag = stage.image(project, prepare=hook)
    scenario = stage.start(project, tag)
    before = sources(scenario.files())
    assert check_answer(interrupted(scenario, remove))["exit_code"] == 7
    assert codes(scenario.ask("status")) == ["no-container"]
    stage.containers.run(tag, name=scenario.container.name)
    recovers(scenario, before)


def test_a_package_on_a_volume(stage: Stage) -> None:
    """The volume outlives a container that is killed, with what was left half done in it."""
    scenario = stage.set(prepare=hook, arguments=["--volume=/opt/venv"])
    scenario.options = ["--image-commit", scenario.project.head]
    before = sources(scenario.files())
    assert check_answer(interrupted(scenario, kill))["outcome"] == "failed"
    recovers(scenario, before)


def test_a_watch_and_a_push(scenario: Scenario) -> None:
    with watching(scenario) as watcher:
        watcher.until("unchanged")
        for generation in (2, 3):
            scenario.edit_generation(generation)
            answer = check_answer(ended(start(scenario)))
            assert answer["outcome"] in ("applied", "unchanged") or codes(answer) == ["locked"]
            deadline = time.monotonic() + 30
            while scenario.answer() != f"generation {generation}: 1.0":
                assert time.monotonic() < deadline, watcher.told()
        assert watcher.end() == 130 or watcher.process.returncode == 0
    assert scenario.ask("verify")["exit_code"] == 0
    assert scenario.ask("revert")["outcome"] == "applied"
