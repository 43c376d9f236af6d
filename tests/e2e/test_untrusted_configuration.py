"""A repository's configuration makes this machine run no program, and read nothing outside the worktree."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.scenario import LocalScenario, check_answer


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """What the programs of a hostile repository write."""
    return tmp_path / "ran"


def program(path: Path, ran: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho ran > {ran}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("target", ["local:tools", "local:{root}/tools"])
@pytest.mark.parametrize("command", ["status", "push", "verify", "revert", "init"])
def test_a_target_of_the_repository(local: LocalScenario, ran: Path, target: str, command: str) -> None:
    root = local.project.path
    program(root / "tools/bin/python3", ran)
    (root / "overlaysync.toml").write_text(f'target = "{target.format(root=root)}"\n')
    answer = check_answer(local.cli("-C", root, command, "--json", directory=root))
    assert (answer["exit_code"], answer["problems"][0]["code"]) == (2, "configuration")
    assert "--container local:PREFIX" in answer["problems"][0]["next_step"]
    assert not ran.exists()


def test_a_target_of_the_repository_in_a_file_that_is_named(local: LocalScenario, ran: Path) -> None:
    root = local.project.path
    program(root / "tools/bin/python3", ran)
    (root / "ours.toml").write_text('target = "local:tools"\n')
    line = ("-C", root, "status", "--json", "--config", root / "ours.toml")
    assert check_answer(local.cli(*line, directory=root))["exit_code"] == 2
    assert not ran.exists()


def test_the_user_may_name_it(local: LocalScenario, ran: Path) -> None:
    """The control: the program is one that would have run."""
    root = local.project.path
    program(root / "tools/bin/python3", ran)
    local.cli("-C", root, "status", "--container", "local:tools", directory=root)
    assert ran.exists()


def test_an_interpreter_of_the_repository(local: LocalScenario, ran: Path) -> None:
    path = local.project.path / "tools/python"
    program(path, ran)
    local.project.write("overlaysync.toml", f'[[package]]\ninterpreter = "{path}"\nuser = "root"\n')
    local.edit_generation()
    local.applied()
    assert not ran.exists()
    local("status", "--interpreter", str(path))
    assert ran.exists()


def test_evidence_from_a_place_of_this_machine(
    local: LocalScenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even a file that holds the right commit: it would be shown, and recorded, whatever it holds."""
    (tmp_path / "token").write_text("secret-of-a-file\n")
    monkeypatch.setenv("TOKEN", "secret-of-the-environment")
    local.options.clear()
    local.project.write(
        "overlaysync.toml", f'[[package]]\nimage-commit = ["file:{tmp_path}/token", "env:TOKEN", "pep610"]\n'
    )
    result = local("status", "--json")
    assert "no-image-commit" in result.stdout
    assert "secret" not in result.stdout
    assert [item["kind"] for item in check_answer(result)["baseline"]["evidence"]] == ["pep610"]
