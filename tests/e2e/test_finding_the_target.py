"""Leaving out ``--container``: dev containers and services of Compose, by the labels of their tools."""

from __future__ import annotations

import pytest

from tests.e2e.scenario import LocalScenario, Stage, check_answer, codes
from tests.parts.packages import SampleProject

pytestmark = pytest.mark.container


def labels_of_compose(project: SampleProject, name: str, service: str) -> dict[str, str]:
    """As Compose labels a service of the project in the worktree."""
    compose = "com.docker.compose"
    return {
        f"{compose}.project": name,
        f"{compose}.service": service,
        f"{compose}.project.working_dir": str(project.path),
    }


def test_a_dev_container(stage: Stage) -> None:
    project = stage.project()
    tag = stage.image(project)
    labels = {"devcontainer.local_folder": str(project.path)}
    scenario = stage.start(project, tag, labels=labels)
    stage.start(project, tag, labels={"devcontainer.local_folder": "/elsewhere"})
    scenario.edit_generation()
    answer = check_answer(scenario.cli("-C", project.path / "sample_pkg", "push", "--json"))
    assert answer["outcome"] == "applied"
    assert answer["target"]["name"] == scenario.container.name
    assert answer["details"]["found_by"] == "dev container of this worktree"
    assert "dev container of this worktree" in scenario.cli("-C", project.path, "status").stdout
    assert scenario.answer() == "generation 2: 1.0"


def test_a_service_of_compose(stage: Stage) -> None:
    project = stage.project()
    tag = stage.image(project)
    scenario = stage.start(project, tag, labels=labels_of_compose(project, "lab", "trainer"))
    scenario.edit_generation()
    answer = check_answer(scenario.cli("-C", project.path, "push", "--json"))
    assert (answer["outcome"], answer["target"]["name"]) == ("applied", scenario.container.name)
    for target in ("compose:trainer", "compose:lab/trainer"):
        line = ("-C", project.path, "status", "--json", "--container", target)
        assert check_answer(scenario.cli(*line))["target"]["name"] == scenario.container.name
    absent = check_answer(
        scenario.cli("-C", project.path, "status", "--json", "--container", "compose:absent")
    )
    assert (absent["exit_code"], codes(absent)) == (7, ["no-container"])
    close = check_answer(scenario.cli("-C", project.path, "status", "--json", "--container", "compose:train"))
    assert close["problems"][0]["next_step"].startswith("write compose:trainer if that is what is meant, or ")


def test_several_are_listed_and_never_guessed(stage: Stage) -> None:
    project = stage.project()
    tag = stage.image(project)
    scenario = stage.start(project, tag, labels=labels_of_compose(project, "one", "trainer"))
    other = stage.start(project, tag, labels=labels_of_compose(project, "two", "trainer"))
    scenario.edit_generation()
    answer = check_answer(scenario.cli("-C", project.path, "push", "--json"))
    assert (answer["exit_code"], codes(answer)) == (2, ["no-target"])
    for container in (scenario.container.name, other.container.name):
        assert container in answer["problems"][0]["message"]
    line = ("-C", project.path, "status", "--json", "--container")
    several = check_answer(scenario.cli(*line, "compose:trainer"))
    assert (several["exit_code"], codes(several)) == (7, ["several-containers"])
    assert "compose:PROJECT/SERVICE" in several["problems"][0]["next_step"]
    one = check_answer(scenario.cli(*line, "compose:two/trainer"))
    assert one["target"]["name"] == other.container.name
    assert scenario.answer() == "generation 1: 1.0"


def test_none(local: LocalScenario) -> None:
    answer = check_answer(local.cli("-C", local.project.path, "push", "--json"))
    assert (answer["exit_code"], codes(answer)) == (2, ["no-target"])
    local.project.write(".devcontainer/devcontainer.json", "{}\n")
    answer = check_answer(local.cli("-C", local.project.path, "push", "--json"))
    assert "its dev container is not running" in answer["problems"][0]["message"]
