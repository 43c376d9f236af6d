"""Checkouts in the container: beside the workload, or mounted over the installed package."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.cases.seen import Case
from tests.e2e.processes import start
from tests.e2e.scenario import ANSWER, Scenario, Stage, codes
from tests.parts.containers import Container

pytestmark = pytest.mark.container

SOURCE_TREE = "/repo/sample_pkg/__init__.py"
WHERE = "import sample_pkg; print(sample_pkg.__file__)"


def source_tree(container: Container) -> None:
    """The package's sources, without its compiled part."""
    container.exec("mkdir", "-p", "/repo/sample_pkg", check=True)
    container.write(SOURCE_TREE, "from sample_pkg import _queue\n")


@pytest.mark.case("N01")
def test_a_source_tree_in_the_working_directory(stage: Stage, case: Case) -> None:
    """The workload would start beside a tree of the same name, which wins."""
    scenario = stage.set(prepare=source_tree, arguments=["--workdir=/repo"])
    failed = scenario.container.exec("python3", "-c", "import sample_pkg")
    assert "cannot import name '_queue' from partially initialized module" in failed.stderr
    scenario.edit_generation()
    answer = case.trap(scenario.refused(), "a source tree in the working directory")
    assert (answer["exit_code"], codes(answer)) == (5, ["shadowed"])
    [problem] = answer["problems"]
    assert SOURCE_TREE in problem["message"]
    assert "the working directory comes first" in problem["message"]
    assert "working-directory" in problem["next_step"]
    assert codes(scenario.ask("status")) == codes(scenario.ask("verify")) == ["shadowed"]
    scenario.project.write("overlaysync.toml", '[[package]]\nworking-directory = "/tmp"\n')
    case.control(scenario.applied(), "the workload starts elsewhere")
    told = scenario.container.exec("python3", "-c", ANSWER, directory="/tmp")
    assert told.stdout == "generation 2: 1.0\n"


@pytest.mark.case("N01")
def test_a_source_tree_on_the_search_path(stage: Stage, case: Case) -> None:
    project = stage.project()
    tag = stage.image(project, prepare=source_tree)
    scenario = stage.start(project, tag, environment={"PYTHONPATH": "/repo"})
    assert "_queue" in scenario.container.exec("python3", "-c", WHERE).stderr
    scenario.edit_generation()
    answer = case.trap(scenario.refused(), "a source tree on PYTHONPATH")
    assert codes(answer) == ["shadowed"]
    assert "/repo of sys.path comes first" in answer["problems"][0]["message"]
    safe = {"PYTHONSAFEPATH": "1"}
    scenario = stage.start(project, tag, environment=safe, arguments=["--workdir=/repo"])
    assert scenario.python(WHERE) == f"{scenario.site}/sample_pkg/__init__.py"
    case.control(scenario.applied(), "the working directory is not searched (PYTHONSAFEPATH)")
    assert scenario.answer() == "generation 2: 1.0"


@pytest.mark.case("N01")
def test_an_empty_directory_of_the_name_is_no_shadow(stage: Stage, case: Case) -> None:
    """A directory without ``__init__.py`` loses against the installed package, wherever it comes."""
    scenario = stage.set(
        prepare=lambda container: container.exec("mkdir", "-p", "/repo/sample_pkg", check=True),
        arguments=["--workdir=/repo"],
    )
    scenario.edit_generation()
    case.control(scenario.applied(), "a directory without __init__.py wins over nothing")
    scenario.container.write("/repo/sample_pkg/__init__.py", "")
    case.trap(scenario.refused(), "the same, with an empty __init__.py")


@pytest.fixture
def mounted(stage: Stage, scenario: Scenario, tmp_path: Path) -> Path:
    """A directory of the host with the content of the install root, as it would be mounted."""
    place = tmp_path / "site"
    scenario.container.engine.run("cp", f"{scenario.container.name}:{scenario.site}", str(place))
    return place


@pytest.mark.case("N05")
@pytest.mark.parametrize("below", ["", "sample_pkg", "sample_pkg/layers", "sample_pkg/engine.py"])
def test_a_mount_over_installed_files(
    stage: Stage, scenario: Scenario, mounted: Path, case: Case, below: str
) -> None:
    """Nothing is written through a mount, and what it hides is not the image's, touched or not."""
    project = scenario.project
    place = f"{scenario.site}/{below}".rstrip("/")
    tag = str(scenario.container.inspect()["Image"])
    trapped = stage.start(project, tag, mounts=[f"{mounted / below}:{place}"])
    assert f" {place} " in trapped.container.exec("cat", "/proc/self/mountinfo").stdout
    trapped.project.edit("models/tiny.py", "LAYERS = [", "LAYERS = [None, ")
    before = {path: path.stat().st_ctime_ns for path in mounted.rglob("*")}
    what = {"": "the install root", "sample_pkg/layers": "a directory of the package that is not touched"}
    what |= {"sample_pkg": "the package", "sample_pkg/engine.py": "a file that is not touched"}
    answer = case.trap(trapped.refused(), f"a mount over {what[below]}")
    assert (answer["exit_code"], codes(answer)) == (5, ["mount"])
    assert f"{place} is a mount point" in str(answer["problems"])
    assert codes(trapped.ask("status")) == codes(trapped.ask("verify")) == ["mount"]
    assert {path: path.stat().st_ctime_ns for path in mounted.rglob("*")} == before

    other = stage.start(project, tag, mounts=[f"{mounted}:{scenario.site}/unrelated"])
    case.control(other.applied(), "a mount beside the package")


@pytest.mark.case("N05")
def test_an_environment_on_a_mount(stage: Stage, scenario: Scenario, tmp_path: Path, case: Case) -> None:
    """Above the install root: the files may be any, so the image's label does not speak for them."""
    environment = tmp_path / "venv"
    scenario.container.engine.run("cp", f"{scenario.container.name}:/opt/venv", str(environment))
    tag = str(scenario.container.inspect()["Image"])
    mounted = stage.start(scenario.project, tag, mounts=[f"{environment}:/opt/venv"])
    mounted.edit_generation()
    answer = case.trap(mounted.refused(), "a mount above the install root, and the image's label as evidence")
    assert codes(answer) == ["mount"]
    assert "does not speak for it" in answer["problems"][0]["message"]
    mounted.options = ["--image-commit", mounted.project.head]
    case.control(mounted.applied(), "the same, with the commit of what is installed given")


@pytest.mark.case("N01")
def test_a_running_script_beside_a_source_tree(stage: Stage, case: Case) -> None:
    """Of a script that was started later, its own directory comes first, wherever the container starts."""
    scenario = stage.set(prepare=source_tree)
    scenario.container.exec("mkdir", "-p", "/elsewhere", check=True)
    for place in ("/repo", "/elsewhere"):
        scenario.container.write(
            f"{place}/serve.py", "import time\nopen('/tmp/ready', 'w').close()\ntime.sleep(600)\n"
        )
    scenario.edit_generation()
    scenario.applied()
    assert scenario.ask("verify")["exit_code"] == 0
    python = scenario.python("import sys; print(sys.executable)")
    start(scenario.container, python, "/elsewhere/serve.py")
    answer = case.control(scenario.ask("verify"), "a script that has no such tree beside it")
    assert answer["exit_code"] == 0
    scenario.container.exec("rm", "/tmp/ready", check=True)
    start(scenario.container, python, "-u", "/repo/serve.py")
    answer = case.trap(scenario.ask("verify"), "a script beside a source tree, told by verify")
    assert (answer["exit_code"], codes(answer)) == (1, ["shadowed"])
    assert "finds sample_pkg in /repo first" in answer["problems"][0]["message"]
