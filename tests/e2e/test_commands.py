"""The commands around push: init, doctor, manifest, verify, revert; and where a target's name comes from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.scenario import LocalScenario, Scenario, Stage, check_answer, check_manners, codes
from tests.parts.packages import SampleProject


@pytest.mark.container
def test_init_proposes_what_then_works(stage: Stage) -> None:
    """A tracked file that the build overwrites is found, written down, and no longer in the way."""
    overwritten = {"layers/norm.py": "def normalise(value):\n    return 5\n"}
    scenario = stage.set(build={"generated": overwritten})
    file = scenario.project.path / "overlaysync.toml"
    shown = scenario("init", "--print")
    assert not file.exists()
    assert "sample_pkg/layers/norm.py" in shown.stdout
    scenario("init")
    text = file.read_text()
    assert f'target = "{scenario.target}"' in text
    assert 'distribution = "sample-pkg"' in text
    assert 'interpreter = "/opt/venv/bin/python3"' in text
    assert "sample_pkg/layers/norm.py" in text
    result = scenario("init")
    assert result.exit_code == 2
    assert "is there already" in result.stderr
    assert "--print" in result.stderr

    # a person agrees with what is proposed; the target is no longer named on the command line
    file.write_text(text.replace('# "/sample_pkg', '"/sample_pkg'))
    scenario.edit_generation()
    answer = check_answer(scenario.cli("-C", scenario.project.path, "push", "--json"))
    assert (answer["outcome"], answer["target"]["name"]) == ("applied", scenario.target)


@pytest.mark.container
def test_doctor_tells_what_is_missing(scenario: Scenario) -> None:
    answer = scenario.ask("doctor")
    assert (answer["exit_code"], answer["problems"]) == (0, [])
    assert {"git", "docker engine", "target", "interpreter", "distribution"} <= {
        check["name"] for check in answer["details"]["checks"]
    }
    scenario.container.stop()
    result = scenario("doctor")
    assert result.exit_code == 1
    assert f"docker start {scenario.target}" in result.stdout


def test_doctor_of_this_machine(local: LocalScenario) -> None:
    result = check_manners(local.cli("-C", local.project.path, "doctor"))
    assert result.exit_code == 0
    assert "✓ git" in result.stdout
    answer = local.ask("doctor", environment={"PATH": "/nowhere"})
    assert answer["exit_code"] == 1
    assert any("git" in problem["message"] for problem in answer["problems"])


def test_manifests_are_found_by_parts_of_their_names(local: LocalScenario) -> None:
    local.edit_generation()
    identity = Path(local.applied()["manifest"]).stem
    line = ("-C", local.project.path, "manifest")
    for reference in ("latest", identity, identity[:12], identity.rpartition("-")[2]):
        shown = check_answer(local.cli(*line, "show", reference, "--json"))
        assert shown["details"]["manifest"]["id"] == identity
    file = Path(shown["manifest"])
    assert shown["details"]["manifest"] == json.loads(file.read_text())
    text = check_manners(local.cli(*line, "show")).stdout
    assert text.startswith(f"record    {identity} · push · ")
    assert f"from      {local.project.path} on " in text
    assert f"file      {file} (all of it: --json)\n" in text
    listing = check_manners(local.cli(*line, "list")).stdout
    assert listing.startswith(f"{identity.rpartition('-')[2]}  ")
    assert listing.endswith(f"push  1 file  {local.target}  sample-pkg 1.0  repository (main)\n")
    result = local.cli(*line, "show", "20991231")
    assert result.exit_code == 2
    assert "20991231" in result.stderr


def test_another_repository_has_its_own_manifests(local: LocalScenario, tmp_path: Path) -> None:
    local.edit_generation()
    local.applied()
    other = SampleProject(tmp_path / "other")
    listing = check_answer(local.cli("-C", other.path, "manifest", "list", "--json"))
    assert listing["details"]["manifests"] == []
    everywhere = check_answer(local.cli("-C", other.path, "manifest", "list", "--all", "--json"))
    [record] = everywhere["details"]["manifests"]
    line = ("-C", other.path, "manifest")
    [name, *_] = check_manners(local.cli(*line, "list", "--all")).stdout.split()
    shown = check_answer(local.cli(*line, "show", name, "--json"))
    assert (name, shown["details"]["manifest"]["id"]) == (record["id"], record["id"])


def test_a_manifest_that_the_host_cannot_keep(local: LocalScenario, tmp_path: Path) -> None:
    """The target is the record that counts: the push is whole, and says what is missing here."""
    (tmp_path / "file").write_text("no directory\n")
    local.edit_generation()
    state = {"XDG_STATE_HOME": str(tmp_path / "file" / "state")}
    answer = local.ask("push", environment=state)
    assert (answer["outcome"], answer["exit_code"], answer["manifest"]) == ("applied", 0, None)
    assert "records cannot be kept" in answer["details"]["not_recorded_here"]
    assert local.answer() == "generation 2: 1.0"
    assert local.ask("revert")["outcome"] == "applied"


def test_damaged_records(local: LocalScenario) -> None:
    """A record in the target that cannot be read stops everything that would build on it."""
    local.edit_generation()
    local.applied()
    [record] = local.environment.site_packages.glob(".overlaysync/*/manifest.json")
    text = record.read_text()
    newer = text.replace("overlaysync.manifest/1", "overlaysync.manifest/9")
    for damage, commands in (("{", ("push",)), ("[]", ("push",)), (newer, ("status", "revert", "verify"))):
        record.write_text(damage)
        for command in commands:
            answer = local.refused(command=command)
            assert (answer["exit_code"], codes(answer)) == (5, ["overlay-damaged"]), (damage, command)
    record.write_text(text)
    assert local.ask("revert")["outcome"] == "applied"


def test_demo(local: LocalScenario, isolation: Path) -> None:
    result = check_manners(local.cli("demo"))
    assert (result.exit_code, result.stderr) == (0, "")
    assert "nothing of it is left" in result.stdout
    assert [path for path in isolation.rglob("*") if path.is_file()] == [isolation / ".gitconfig"]
    assert check_answer(local.cli("demo", "--json"))["outcome"] == "applied"
