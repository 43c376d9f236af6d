"""``init`` tells what it found, and settles nothing that a person has to settle."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from overlaysync.app.calling import Call
from overlaysync.app.initialise import initialise
from overlaysync.app.options import Options
from overlaysync.config.loading import load
from overlaysync.errors import UsageError
from tests.e2e.scenario import LocalScenario, codes, set_locally
from tests.parts.command_line import CommandLine


@pytest.fixture
def rewritten(cli: CommandLine, tmp_path: Path) -> LocalScenario:
    """The installed file is another than HEAD's, and RECORD agrees with it."""
    generated = {"layers/norm.py": "def normalise(value):\n    return 5\n"}
    return set_locally(cli, tmp_path, build={"generated": generated})


def configuration(scenario: LocalScenario) -> Path:
    return scenario.project.path / "overlaysync.toml"


def test_what_is_proven_is_written_for_the_next_commands(local: LocalScenario) -> None:
    answer = local.ask("init")
    assert (answer["exit_code"], answer["problems"]) == (0, [])
    (package,) = load(local.project.path, None).packages
    assert package.generated == ()
    assert "uncomment" not in configuration(local).read_text()
    local.edit_generation()
    local.applied()


@pytest.mark.parametrize(("fixture", "found"), [("local", []), ("rewritten", ["content-differs"])])
def test_a_running_workload_is_a_note(request: pytest.FixtureRequest, fixture: str, found: list[str]) -> None:
    """It says nothing about the configuration; what does is found beside it all the same."""
    scenario: LocalScenario = request.getfixturevalue(fixture)
    with running(scenario):
        assert "workload" in codes(scenario.refused())
        answer = scenario.ask("init")
        people = scenario("init", "--print")
    assert (answer["exit_code"], codes(answer)) == (int(bool(found)), found)
    [note] = [text for text in answer["details"]["notes"] if "could have the package loaded" in text]
    assert "no push writes while it runs → name it in workload-ignore" in note
    assert (people.exit_code, "✗" in people.stdout) == (int(bool(found)), bool(found))
    assert "could have the package loaded" in people.stdout
    configuration(scenario).unlink()
    assert not [text for text in scenario.ask("init")["details"]["notes"] if "loaded" in text]


@contextmanager
def running(scenario: LocalScenario) -> Iterator[None]:
    """While a process of the target has the package loaded."""
    code = "import sample_pkg, sys; print(flush=True); sys.stdin.read()"
    command = [str(scenario.environment.executable), "-c", code]
    cwd = scenario.environment.prefix
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield
        process.kill()


def test_another_content_than_heads_is_told_and_proposed_but_not_configured(rewritten: LocalScenario) -> None:
    answer = rewritten.ask("init")
    assert (answer["exit_code"], codes(answer)) == (1, ["content-differs"])
    assert load(rewritten.project.path, None).packages[0].generated == ()
    rewritten.edit_generation()
    answer = rewritten.refused()
    assert (answer["exit_code"], codes(answer)) == (4, ["content-differs"])

    file = configuration(rewritten)
    line = '# "/sample_pkg/layers/norm.py",'
    assert line in file.read_text()
    file.write_text(file.read_text().replace(line, line.removeprefix("# ")))
    rewritten.applied()


def test_people_are_shown_the_next_step(rewritten: LocalScenario) -> None:
    result = rewritten("init", "--print")
    assert result.exit_code == 1
    assert (
        '→ rebuild from HEAD; if the build overwrites it, declare it: generated = ["/sample' in result.stdout
    )
    assert "nothing was written" in result.stdout
    assert not configuration(rewritten).exists()


def test_without_an_image_commit_nothing_is_proposed(rewritten: LocalScenario) -> None:
    rewritten.options.clear()
    answer = rewritten.ask("init", "--print")
    assert (answer["exit_code"], codes(answer)) == (1, ["no-image-commit"])
    assert "uncomment" not in answer["details"]["configuration"]


def test_an_environment_of_this_machine_is_not_written_down(local: LocalScenario) -> None:
    text = local.ask("init", "--print")["details"]["configuration"]
    assert str(local.environment.prefix) not in text
    assert '# target = "docker:my-dev"' in text


def test_a_file_that_comes_meanwhile_stays_as_it_is(local: LocalScenario) -> None:
    def somebody_else(stage: str) -> None:
        if stage == "planning":
            configuration(local).write_text("# theirs\n")

    options = Options(worktree=local.project.path, container=local.target, image_commit=local.project.head)
    with pytest.raises(UsageError, match="is there already"), Call(options) as call:
        initialise(call, somebody_else)
    assert configuration(local).read_text() == "# theirs\n"
    configuration(local).unlink()
    with Call(options) as call:
        initialise(call, lambda stage: None)
    assert load(local.project.path, None).file == str(configuration(local))


def test_a_worktree_is_configured_once(local: LocalScenario) -> None:
    local.project.write(
        "pyproject.toml", "[tool.overlaysync]\n[[tool.overlaysync.package]]\nships = ['a/b']\n"
    )
    answer = local.refused("--distribution", "sample-pkg", command="init")
    assert answer["exit_code"] == 2
    assert "configures this worktree already" in answer["problems"][0]["message"]
    assert not configuration(local).exists()
