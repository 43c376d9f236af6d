"""The command group: complete, and light to start."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import click
import pytest

from overlaysync.cli.common import RISKS
from overlaysync.cli.main import COMMANDS
from overlaysync.model.problem_kinds import PROBLEM_KINDS
from tests.parts.command_line import CommandLine

HEAVY = ("git", "paramiko", "rich", "watchdog", "msgspec", "xxhash", "tomli", "pathspec")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_listed_command_exists_and_helps_with_an_example(name: str, cli: CommandLine) -> None:
    command = import_module(f"overlaysync.cli.{name}").command
    assert isinstance(command, click.Command)
    done = cli(name, "--help")
    assert done.exit_code == 0
    assert "Example: " in done.stdout


def test_help_and_version_load_nothing_heavy() -> None:
    code = (
        "import sys; from overlaysync.cli.failure import run; from overlaysync.cli.main import overlaysync;"
        "run(overlaysync, ['--help']); run(overlaysync, ['--version']);"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr.strip() == "[]"
    assert "Example: overlaysync push --container my-dev" in done.stdout


@pytest.mark.parametrize("arguments", [["pusch"], ["push", "--no-such"], ["push", "--acknowledge", "all"]])
def test_wrong_words_are_a_usage_error_with_the_help_to_read(cli: CommandLine, arguments: list[str]) -> None:
    done = cli(*arguments)
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr
    assert "--help" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_the_program(cli: CommandLine, shell: str) -> None:
    assert "_OVERLAYSYNC_COMPLETE" in cli("completion", shell).stdout


def test_every_risk_can_be_accepted_by_its_name() -> None:
    """The command line has them as words of its own, since it starts without the model."""
    assert set(RISKS) == {kind.acknowledge for kind in PROBLEM_KINDS.values()} - {None}
