"""The main job: a worktree's difference becomes a proven overlay in a running container."""

from __future__ import annotations

import pytest

from tests.e2e.scenario import Scenario

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
