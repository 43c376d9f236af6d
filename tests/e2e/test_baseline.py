"""The baseline: HEAD is the image's commit, proven by evidence and by content, or nothing is written."""

from __future__ import annotations

import pytest

from tests.e2e.scenario import REVISION, Scenario, Stage, changed, codes, second_commit

pytestmark = pytest.mark.container


def test_head_one_commit_on(scenario: Scenario) -> None:
    scenario.edit_generation()
    image_commit = second_commit(scenario.project)
    scenario.edit_generation(3)
    answer = scenario.refused()
    assert (answer["exit_code"], codes(answer)) == (4, ["head-differs"])
    [problem] = answer["problems"]
    assert scenario.project.head in problem["message"]
    assert image_commit in problem["message"]
    assert REVISION in problem["message"]
    assert f"{scenario.typed('push')} --port" in problem["next_step"]

    # what it says to do leads to the goal
    scenario.applied("--port")
    assert scenario.answer() == "generation 3: 1.0"
    scenario.project.git("switch", "--quiet", "--discard-changes", "--detach", image_commit)
    scenario.edit_generation(4)
    scenario.applied()
    assert scenario.answer() == "generation 4: 1.0"


def test_a_label_against_the_given_commit(scenario: Scenario) -> None:
    scenario.edit_generation()
    other = second_commit(scenario.project)
    head = scenario.project.head
    answer = scenario.refused("--image-commit", head)
    assert (answer["exit_code"], codes(answer)) == (4, ["evidence-conflict"])
    assert head in answer["problems"][0]["message"]
    assert other in answer["problems"][0]["message"]
    scenario.project.git("reset", "--quiet", "--mixed", other)
    scenario.applied("--image-commit", other)


def test_an_unrelated_file_was_altered(scenario: Scenario) -> None:
    altered = f"{scenario.site}/sample_pkg/layers/norm.py"
    scenario.container.write(altered, "def normalise(value):\n    return value / 4\n")
    scenario.edit_generation()
    before = scenario.files()
    answer = scenario.refused()
    assert (answer["exit_code"], codes(answer)) == (5, ["drift"])
    [problem] = answer["problems"]
    assert problem["path"] == "sample_pkg/layers/norm.py"
    assert problem["message"].count("sha256") == 2  # the target's and the worktree's, beside HEAD's blob
    assert "HEAD blob" in problem["message"]
    assert "--acknowledge drift" in problem["next_step"]

    answer = scenario.applied("--acknowledge", "drift")
    assert answer["details"]["acknowledged"] == {"drift": ["sample_pkg/layers/norm.py"]}
    assert changed(before, scenario.files()) <= {
        "sample_pkg/engine.py",
        "sample_pkg/__pycache__/engine.cpython-311.pyc",
    }
    assert scenario.answer() == "generation 2: 2.0"
    manifest = scenario.cli("-C", scenario.project.path, "manifest", "show", "--json").json()
    assert manifest["details"]["manifest"]["acknowledged"] == [
        {"risk": "drift", "paths": ["sample_pkg/layers/norm.py"]}
    ]


def test_the_altered_file_is_the_one_to_push(scenario: Scenario) -> None:
    altered = f"{scenario.site}/sample_pkg/engine.py"
    original = scenario.container.exec("cat", altered).stdout
    scenario.container.write(altered, original + "\nPATCHED = True\n")
    scenario.edit_generation()
    for arguments in ((), ("--acknowledge", "drift")):
        answer = scenario.refused(*arguments)
        assert (answer["exit_code"], codes(answer)) == (5, ["original-differs"])
    scenario.container.write(altered, original)
    scenario.applied()


def test_a_compiled_file_was_altered(scenario: Scenario) -> None:
    """No blob of HEAD tells what it should be; RECORD does."""
    name = scenario.python("import sample_pkg._queue as m; print(m.__file__)")
    scenario.container.exec("chmod", "u+w", name, check=True)
    scenario.container.write(name, "no longer what was built")
    scenario.edit_generation()
    answer = scenario.refused()
    assert (answer["exit_code"], codes(answer)) == (5, ["drift"])
    scenario.applied("--acknowledge", "drift")


def test_the_image_was_built_with_another_file(stage: Stage) -> None:
    """RECORD agrees with the installed file: the build overwrote a tracked one, or HEAD is another."""
    scenario = stage.set(build={"generated": {"layers/norm.py": "def normalise(value):\n    return 5\n"}})
    scenario.edit_generation()
    answer = scenario.refused()
    assert (answer["exit_code"], codes(answer)) == (4, ["content-differs"])
    line = 'generated = ["/sample_pkg/layers/norm.py"]'
    assert line in answer["problems"][0]["next_step"]
    assert scenario.refused("--acknowledge", "drift")["exit_code"] == 4

    scenario.project.write("overlaysync.toml", f"[[package]]\n{line}\n")
    answer = scenario.applied()
    assert scenario.answer() == "generation 2: 5"
    manifest = scenario.cli("-C", scenario.project.path, "manifest", "show", "--json").json()
    [different] = manifest["details"]["manifest"]["baseline"]["content"]["different"]
    assert (different["source"], different["explained"]) == ("sample_pkg/layers/norm.py", "generated")

    scenario.project.edit("layers/norm.py", "/ 8", "/ 16")
    answer = scenario.refused()
    assert answer["exit_code"] == 5
    assert codes(answer) == ["original-differs"]
    assert "the build overwrites this tracked file" in answer["problems"][0]["message"]
