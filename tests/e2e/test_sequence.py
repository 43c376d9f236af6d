"""Push, edit, push, undo, push, revert: the tree after each step, and the manifests that tell of it."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.scenario import (
    OURS,
    LocalScenario,
    Scenario,
    Stage,
    Tree,
    Work,
    changed,
    check_answer,
    codes,
    is_ours,
)

ATTENTION, CONFIG, ENGINE, NORM, TINY = (
    f"sample_pkg/{name}"
    for name in ("layers/attention.py", "config.py", "engine.py", "layers/norm.py", "models/tiny.py")
)
HUGE, TABLE = "sample_pkg/models/huge.py", "sample_pkg/data/table.json"


def sources(tree: Tree) -> Tree:
    """All but bytecode and what holds no bytes."""
    return {name: entry for name, entry in tree.items() if entry.content and "__pycache__" not in name}


def bytecode_of(tree: Tree, source: str) -> list[str]:
    directory, _, name = source.rpartition("/")
    start = f"{directory}/__pycache__/{name.removesuffix('.py')}."
    return [name for name in tree if name.startswith(start)]


def check_overlay(work: Work, before: Tree, overlay: set[str], answer: Any) -> None:
    """Exactly ``overlay`` differs from the start, holds the worktree's bytes, with owner and mode kept.

    Of what ``answer`` says was written, no bytecode from before is left, unless it came back with its source.
    """
    written = {item["destination"] for item in answer["operations"]}
    after = work.files()
    assert changed(sources(before), sources(after)) == overlay
    for name in overlay:
        path = work.project.path / work.project.layout / name
        assert (name in after) == path.exists()
        if any(destination.endswith(f"/{name}") for destination in written):
            assert not bytecode_of(after, name)
        if name not in after:
            continue
        assert after[name].content == hashlib.sha256(path.read_bytes()).hexdigest()
        like = before.get(name, before[ENGINE])
        assert after[name][:3] == like[:3]
        assert (after[name].mtime_ns or 0) > (like.mtime_ns or 0)
    untouched = {name for name in before if not any(name in (o, *bytecode_of(before, o)) for o in overlay)}
    assert {name: after.get(name) for name in untouched} == {name: before[name] for name in untouched}


def manifests(work: Work) -> list[Any]:
    """Every manifest of this repository on the host, newest first, whole."""
    listing = work.cli("-C", work.project.path, "manifest", "list", "--json").json()["details"]["manifests"]
    shown = [work.cli("-C", work.project.path, "manifest", "show", item["id"], "--json") for item in listing]
    return [result.json()["details"]["manifest"] for result in shown]


def through_all_steps(work: Work) -> None:
    project, start = work.project, work.tree()
    before = work.files()
    assert bytecode_of(before, ENGINE)

    work.edit_generation(2)
    project.edit("config.py", "import json", "import json  # as text")
    project.write(project.source("models/huge.py"), "LAYERS = []\n")
    project.write(project.source("data/table.json"), "{}\n")
    (project.path / project.source("models/tiny.py")).unlink()
    first = work.applied()
    assert [(item["action"], item["source"]) for item in first["operations"]] == [
        ("replace", project.source("config.py")),
        ("add", project.source("data/table.json")),
        ("replace", project.source("engine.py")),
        ("add", project.source("models/huge.py")),
        ("remove", project.source("models/tiny.py")),
    ]
    check_overlay(work, before, {CONFIG, TABLE, ENGINE, HUGE, TINY}, first)
    assert work.answer() == "generation 2: 1.0"  # which writes new bytecode, as any workload does

    work.edit_generation(3)
    project.edit("layers/norm.py", "/ 8", "/ 2")
    second = work.applied()
    assert [item["action"] for item in second["operations"]] == ["replace", "replace"]
    assert {item["source"] for item in second["operations"]} == {
        project.source("engine.py"), project.source("layers/norm.py")
    }  # fmt: skip
    assert second["baseline"]["content"]["overlaid"] == 3
    check_overlay(work, before, {CONFIG, TABLE, ENGINE, HUGE, TINY, NORM}, second)
    assert work.answer() == "generation 3: 4.0"

    project.git("checkout", "--quiet", project.source("config.py"), project.source("models/tiny.py"))
    (project.path / project.source("models/huge.py")).unlink()
    third = work.applied()
    assert {item["source"]: item["action"] for item in third["operations"]} == {
        project.source("config.py"): "replace",
        project.source("models/huge.py"): "remove",
        project.source("models/tiny.py"): "add",
    }
    check_overlay(work, before, {TABLE, ENGINE, NORM}, third)

    held = work.traces()
    again = work.push()
    assert (again["outcome"], again["exit_code"], again["operations"]) == ("unchanged", 0, [])
    assert changed(held, work.traces()) == set()
    assert work.ask("verify")["exit_code"] == 0

    reverted = work.ask("revert")
    assert (reverted["outcome"], reverted["exit_code"]) == ("applied", 0)
    assert work.files() == before  # bytes, mode, owner and time of every file, bytecode included
    assert not any(is_ours(name) for name in work.tree())
    assert {name for name in work.tree() if name not in start} == set()
    assert work.ask("revert")["outcome"] == "unchanged"
    assert work.answer() == "generation 1: 1.0"
    tell_the_story(work, [first, second, third, reverted])


def tell_the_story(work: Work, answers: list[Any]) -> None:
    """The manifests are a chain, and their differences are what was done."""
    records = manifests(work)[::-1]
    assert [record["command"] for record in records] == ["push", "push", "push", "revert"]
    assert records[0]["previous"] is records[0]["previous_sha256"] is None
    for earlier, later, answer in zip(records, records[1:], answers, strict=False):
        assert later["previous"] == earlier["id"]
        text = Path(answer["manifest"]).read_bytes()
        assert later["previous_sha256"] == hashlib.sha256(text).hexdigest()
    overlays = [{item["destination"] for item in record["overlay"]} for record in records]
    assert overlays == [
        {CONFIG, TABLE, ENGINE, HUGE, TINY},
        {CONFIG, TABLE, ENGINE, HUGE, TINY, NORM},
        {TABLE, ENGINE, NORM},
        set(),
    ]
    line = ("-C", work.project.path, "manifest", "diff", records[0]["id"], records[1]["id"])
    difference = work.cli(*line, "--json").json()["details"]["difference"]
    assert [item["destination"] for item in difference["added"]] == [NORM]
    assert [item["after"]["destination"] for item in difference["changed"]] == [ENGINE]
    assert work.cli(*line[:-2], records[1]["id"], "--json").json()["details"]["difference"] == difference
    shown = work.cli(*line).stdout
    assert f"+ {NORM}" in shown
    assert f"~ {ENGINE}" in shown


@pytest.mark.container
def test_in_a_container(scenario: Scenario) -> None:
    through_all_steps(scenario)


def test_in_an_environment_of_this_machine(local: LocalScenario) -> None:
    through_all_steps(local)


@pytest.mark.container
def test_a_top_level_module_that_was_removed(local: LocalScenario) -> None:
    """RECORD goes on listing it, and nothing of that name is missed."""
    site = local.environment.site_packages
    local.project.write("solo.py", "ALONE = True\n")
    local.options = ["--image-commit", local.project.commit("A module of its own")]
    (site / "solo.py").write_text("ALONE = True\n")
    with next(site.glob("sample_pkg-*.dist-info/RECORD")).open("a") as record:
        record.write("solo.py,,\n")
    (local.project.path / "solo.py").unlink()
    local.applied()
    assert local.push()["outcome"] == "unchanged"
    assert local.ask("verify")["exit_code"] == 0
    local.project.write("sample_pkg/solo.py", "ALONE = False\n")
    local.applied()
    assert local.ask("revert")["exit_code"] == 0
    assert local.python("import solo; print(solo.ALONE)") == "True"
    (site / "solo.py").unlink()
    assert "not-importable" in codes(local.refused())


def test_head_that_holds_what_was_pushed_by_hand(scenario: Scenario) -> None:
    """The container got the worktree's bytes by other means: there is nothing to write, yet all to prove."""
    scenario.edit_generation()
    new = (scenario.project.path / "sample_pkg" / "engine.py").read_text()
    scenario.container.write(f"{scenario.site}/sample_pkg/engine.py", new)
    assert scenario.refused()["exit_code"] == 5


@pytest.mark.container
def test_what_somebody_changed_in_the_overlay_is_left_alone(scenario: Scenario) -> None:
    scenario.edit_generation()
    scenario.applied()
    place = f"{scenario.site}/sample_pkg/engine.py"
    pushed = scenario.container.exec("cat", place).stdout
    scenario.container.write(place, pushed + "# by hand\n")
    assert scenario.ask("verify")["exit_code"] == 1
    assert scenario.refused(command="revert")["exit_code"] == 5
    scenario.edit_generation(3)
    assert scenario.refused("--acknowledge", "drift")["exit_code"] == 5
    scenario.container.write(place, pushed)
    scenario.applied()
    assert scenario.ask("revert")["outcome"] == "applied"


@pytest.mark.container
def test_a_dry_run_writes_nothing(scenario: Scenario) -> None:
    scenario.edit_generation()
    before = scenario.traces()
    answer = scenario.push("--dry-run")
    assert (answer["outcome"], answer["exit_code"]) == ("planned", 0)
    assert [item["action"] for item in answer["operations"]] == ["replace"]
    status = scenario.ask("status", "--check")
    assert (status["outcome"], status["exit_code"]) == ("planned", 1)
    assert changed(before, scenario.traces()) == set()
    assert status["operations"] == answer["operations"]
    scenario.applied()
    assert scenario.ask("status", "--check")["exit_code"] == 0
    before = scenario.traces()
    assert scenario.ask("revert", "--dry-run")["outcome"] == "planned"
    assert changed(before, scenario.traces()) == set()


@pytest.mark.container
def test_a_second_host_sees_what_the_first_one_did(stage: Stage, scenario: Scenario, tmp_path: Path) -> None:
    scenario.edit_generation()
    scenario.applied()
    elsewhere = {"XDG_STATE_HOME": str(tmp_path / "other-state")}
    status = scenario.ask("status", environment=elsewhere)
    assert (status["outcome"], status["details"]["overlay"]) == ("unchanged", [ENGINE])
    assert scenario.ask("revert", environment=elsewhere)["outcome"] == "applied"


@pytest.mark.container
def test_a_restart_keeps_the_overlay_and_a_new_container_has_none(stage: Stage) -> None:
    scenario = stage.set()
    scenario.edit_generation()
    scenario.applied()
    scenario.container.stop()
    scenario.container.start()
    assert scenario.ask("verify")["exit_code"] == 0
    assert scenario.push()["outcome"] == "unchanged"
    make_anew(stage, scenario)
    answer = scenario.ask("verify")
    assert (answer["exit_code"], answer["problems"][0]["code"]) == (1, "other-container")
    told = f"push again, with the same options: {scenario.typed('push')}"
    assert answer["problems"][0]["next_step"] == told
    reverted = scenario.ask("revert")
    assert (reverted["outcome"], reverted["exit_code"], reverted["problems"]) == ("unchanged", 0, [])
    scenario.applied()
    assert scenario.answer() == "generation 2: 1.0"
    assert OURS in scenario.tree()


def make_anew(stage: Stage, scenario: Scenario) -> None:
    """Another container of the same image, under the same name."""
    image = str(scenario.container.inspect()["Image"])
    scenario.container.remove()
    stage.containers.run(image, name=scenario.container.name)


@pytest.mark.container
def test_what_was_carried_into_a_container_that_was_made_anew_is_carried_again(
    stage: Stage, scenario: Scenario
) -> None:
    """The next step that verify names is the command that works: a plain push would be refused."""
    scenario.project.git("switch", "--quiet", "--create", "feature")
    scenario.edit_generation()
    scenario.project.commit("Another generation")
    scenario.applied("--port")
    make_anew(stage, scenario)
    [problem] = scenario.ask("verify")["problems"]
    assert problem["code"] == "other-container"
    told = problem["next_step"].partition("with the same options: ")[2]
    assert told == f"{scenario.typed('push')} --port"
    assert check_answer(scenario.cli(*shlex.split(told)[1:], "--json"))["outcome"] == "applied"
    assert scenario.ask("verify")["exit_code"] == 0
