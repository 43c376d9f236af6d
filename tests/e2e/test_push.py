"""The main job: a worktree's difference becomes a proven overlay in a running container."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.e2e.scenario import Scenario, Stage

pytestmark = pytest.mark.container


def test_an_edit_arrives_and_runs(scenario: Scenario) -> None:
    before = scenario.files()
    scenario.project.edit("engine.py", "GENERATION = 1", "GENERATION = 2")
    answer = scenario.push()
    assert (answer["outcome"], answer["exit_code"], answer["problems"]) == ("applied", 0, [])
    assert [(item["action"], item["source"], item["class"]) for item in answer["operations"]] == [
        ("replace", "sample_pkg/engine.py", "python")
    ]
    assert scenario.answer() == "generation 2: 1.0"
    after = scenario.files()
    assert {path for path in before if after.get(path) != before[path]} >= {"sample_pkg/engine.py"}
    assert after["sample_pkg/engine.py"].mode == before["sample_pkg/engine.py"].mode


def test_a_run_begins_with_what_the_last_one_asked(scenario: Scenario, tmp_path: Path) -> None:
    """One process in the container and one question to the engine, and the answers are the same."""
    real, calls = shutil.which("docker"), tmp_path / "calls"
    program = tmp_path / "bin" / "docker"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$1 $2" >> {calls}\nexec {real} "$@"\n')
    program.chmod(0o755)
    environment = {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    scenario.edit_generation()
    answers = []
    for expected in (
        ["container inspect", "exec --interactive", "image inspect"],
        ["exec --interactive", f"inspect {scenario.target}"],
    ):
        answer = scenario.ask("status", *scenario.options, environment=environment)
        assert answer.pop("timings_ms")["total"] > 0
        assert sorted(calls.read_text().splitlines()) == expected
        calls.unlink()
        answers.append(answer)
    assert answers[0] == answers[1]


def test_a_container_of_the_same_name_is_another_one(stage: Stage) -> None:
    """What the last run started is begun again at once, in the container of then: it is not taken over."""
    project = stage.project()
    tag = stage.image(project)
    scenario = stage.start(project, tag)
    scenario.edit_generation()
    first = scenario.applied()["target"]["container_id"]
    scenario.container.engine.run("rename", scenario.target, f"{scenario.target}-before")
    try:
        other = stage.containers.run(tag, name=scenario.target)
        assert scenario.applied()["target"]["container_id"] != first
        assert scenario.answer() == "generation 2: 1.0"
        other.remove()
        answer = scenario.push()
        assert (answer["exit_code"], answer["problems"][0]["code"]) == (7, "no-container")
    finally:
        scenario.container.engine.run("rm", "--force", f"{scenario.target}-before")
