"""Targets that cannot be reached or worked with: one clear message, exit code 7, nothing written."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.scenario import REVISION, LocalScenario, Scenario, Stage, check_answer, check_manners, codes
from tests.parts.command_line import CommandLine
from tests.parts.containers import Container
from tests.parts.images import ImageFactory
from tests.parts.interpreters import installed_interpreters
from tests.parts.packages import SampleProject


@pytest.fixture
def project(tmp_path: Path) -> SampleProject:
    return SampleProject(tmp_path / "repository")


def push_into(cli: CommandLine, project: SampleProject, target: str, **environment: str) -> Any:
    """The one problem of a push that ends with exit code 7, after a look at what a person reads."""
    line = ("-C", project.path, "push", "--container", target)
    result = check_manners(cli(*line, environment=environment))
    assert (result.exit_code, result.stdout) == (7, ""), result
    assert len(result.stderr.splitlines()) == 2, result.stderr
    answer = check_answer(cli(*line, "--json", environment=environment))
    assert (answer["outcome"], answer["exit_code"], answer["command"]) == ("failed", 7, "push")
    [problem] = answer["problems"]
    assert problem["message"].replace("\x1b", "\\x1b") in result.stderr
    assert problem["next_step"] in result.stderr
    return problem


def without_docker(tmp_path: Path) -> str:
    """A PATH on which there is git and no docker."""
    programs = tmp_path / "programs"
    programs.mkdir(exist_ok=True)
    git = shutil.which("git")
    assert git is not None
    (programs / "git").symlink_to(git)
    return str(programs)


def test_no_docker_command(cli: CommandLine, project: SampleProject, tmp_path: Path) -> None:
    problem = push_into(cli, project, "x", PATH=without_docker(tmp_path))
    assert problem["code"] == "no-engine"
    assert "the docker command is not installed" in problem["message"]
    assert "local:PREFIX" in problem["next_step"]


@pytest.mark.container
def test_no_engine_behind_the_command(scenario: Scenario, tmp_path: Path) -> None:
    for host in (f"unix://{tmp_path}/dead.sock", "tcp://127.0.0.1:1", "nonsense"):
        problem = push_into(scenario.cli, scenario.project, scenario.target, DOCKER_HOST=host)
        assert problem["code"] == "no-engine", problem
        assert "docker version" in problem["next_step"]
    assert scenario.push()["exit_code"] == 0


@pytest.mark.container
def test_no_such_container(scenario: Scenario) -> None:
    problem = push_into(scenario.cli, scenario.project, "no-such-container")
    assert problem["code"] == "no-container"
    assert "no-such-container" in problem["message"]
    assert "docker ps" in problem["next_step"]
    for odd in ("--help", "a b", "$(id)", "x\x1b[31m"):
        assert "no container name" in push_into(scenario.cli, scenario.project, f"docker:{odd}")["message"]


@pytest.mark.container
def test_stopped_and_paused(scenario: Scenario) -> None:
    scenario.edit_generation()
    scenario.container.pause()
    problem = push_into(scenario.cli, scenario.project, scenario.target)
    assert problem["code"] == "target-paused"
    assert problem["next_step"] == f"docker unpause {scenario.target}"
    scenario.container.unpause()
    scenario.container.stop()
    problem = push_into(scenario.cli, scenario.project, scenario.target)
    assert problem["code"] == "target-stopped"
    assert problem["next_step"] == f"docker start {scenario.target}"
    scenario.container.start()
    scenario.applied()


@pytest.mark.container
def test_no_python_in_it(stage: Stage) -> None:
    project = stage.project()

    def remove(container: Container) -> None:
        container.exec("sh", "-c", "rm -rf /opt/venv /usr/local/bin/python*", check=True)

    tag = stage.images.derived(stage.images.venv(), remove)
    container = stage.containers.run(tag)
    problem = push_into(stage.cli, project, container.name)
    assert problem["code"] == "no-python"
    assert container.name in problem["message"]
    assert "--interpreter PATH" in problem["next_step"]


@pytest.mark.container
def test_an_interpreter_that_is_none(scenario: Scenario) -> None:
    scenario.edit_generation()
    for path in ("/no/such/python", "/usr/bin/cat", "/etc"):
        scenario.options = ["--interpreter", path]
        answer = scenario.refused()
        assert (answer["exit_code"], codes(answer)) == (7, ["no-python"]), answer
        assert path in answer["problems"][0]["message"], answer
    scenario.options = ["--interpreter", "/opt/venv/bin/python3"]
    scenario.applied()


@pytest.mark.container
def test_a_user_that_the_container_does_not_have(scenario: Scenario) -> None:
    scenario.edit_generation()
    answer = scenario.refused("--user", "nobody-knows")
    assert answer["exit_code"] == 7
    assert "nobody-knows" in answer["problems"][0]["message"]
    scenario.applied("--user", "root")


@pytest.mark.container
def test_the_distribution_is_not_installed(stage: Stage) -> None:
    project = stage.project()
    container = stage.containers.run(stage.images.venv())
    problem = push_into(stage.cli, project, container.name)
    assert problem["code"] == "not-installed"
    assert "sample-pkg" in problem["message"]
    assert "/opt/venv/bin/python3" in problem["message"]
    assert "--distribution" in problem["next_step"]


@pytest.mark.container
@pytest.mark.parametrize("version", ["3.6", "3.7"])
def test_an_old_python_says_so(images: ImageFactory, stage: Stage, version: str) -> None:
    executable = installed_interpreters().get(version)
    if executable is None:
        pytest.skip(f"this machine has no Python {version}")
    container = stage.containers.run(images.venv(executable))
    problem = push_into(stage.cli, stage.project(), container.name)
    assert problem["code"] == "python-too-old"
    assert f"is Python {version}; the agent needs 3.8 or newer" in problem["message"]
    assert "--interpreter PATH" in problem["next_step"]


def test_local_targets_that_are_none(local: LocalScenario, tmp_path: Path) -> None:
    project = local.project
    problem = push_into(local.cli, project, f"local:{tmp_path}/nowhere")
    assert "nowhere" in problem["message"]
    empty = tmp_path / "empty"
    empty.mkdir()
    problem = push_into(local.cli, project, f"local:{empty}")
    assert problem["code"] == "no-python"
    (empty / "bin").mkdir()
    broken = empty / "bin" / "python3"
    broken.write_text("#!/bin/sh\necho out of order >&2\nexit 3\n")
    broken.chmod(0o755)
    problem = push_into(local.cli, project, f"local:{empty}")
    assert "out of order" in problem["message"]
    broken.write_text("#!/no/such/loader\n")
    assert push_into(local.cli, project, f"local:{empty}")["code"] == "no-python"
    line = ("-C", project.path, "push", "--container", local.target, "--user", "root")
    assert local.cli(*line).exit_code == 7
    assert local.push()["exit_code"] == 0


@pytest.mark.container
def test_several_interpreters_hold_it(stage: Stage) -> None:
    """A virtual environment and the interpreter behind it hold a copy each: which one is meant is unknown."""
    project = stage.project()
    tag = stage.image(project)
    site = stage.start(project, tag).site
    place = site.replace("/opt/venv", "/usr/local")
    copies = [f"{site}/{name}" for name in ("sample_pkg", "sample_pkg-1.0.dist-info")]

    def install_again(container: Container) -> None:
        container.exec("cp", "-a", *copies, place, check=True)

    labels = {REVISION: project.head}
    scenario = stage.start(project, stage.images.derived(tag, install_again, labels=labels))
    scenario.edit_generation()
    answer = scenario.refused()
    assert (answer["exit_code"], codes(answer)) == (7, ["several-interpreters"])
    [problem] = answer["problems"]
    assert "/opt/venv/bin/python3" in problem["message"]
    assert "/usr/local/bin/python3" in problem["message"]
    assert "--interpreter PATH" in problem["next_step"]
    scenario.options = ["--interpreter", "/usr/local/bin/python3"]
    assert scenario.applied()["operations"][0]["destination"] == f"{place}/sample_pkg/engine.py"
    assert scenario.answer() == "generation 1: 1.0"  # the environment's own copy is another target
    scenario.options = []
    scenario.project.write("overlaysync.toml", '[[package]]\ninterpreter = "/opt/venv/bin/python3"\n')
    scenario.applied()
    assert scenario.answer() == "generation 2: 1.0"


def test_a_docker_command_that_talks_nonsense(
    cli: CommandLine, project: SampleProject, tmp_path: Path
) -> None:
    programs = Path(without_docker(tmp_path))
    docker = programs / "docker"
    for script in (
        "echo '[{}]'",
        "echo nothing",
        "echo '[null]'",
        "echo '{}'",
        "printf '\\033[31mred' >&2; exit 1",
    ):
        docker.write_text(f"#!/bin/sh\n{script}\n")
        docker.chmod(0o755)
        assert push_into(cli, project, "x", PATH=str(programs))["code"] in ("target", "no-engine")
    docker.chmod(0o644)
    assert push_into(cli, project, "x", PATH=str(programs))["code"] == "no-engine"
