"""Worktrees and configurations that cannot be worked with, and odd names and files in good ones.

No engine is needed for what the host alone decides.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import pytest

from tests.e2e.scenario import LocalScenario, check_answer, check_manners, codes
from tests.parts.command_line import CommandLine
from tests.parts.repositories import Repository


def push_from(cli: CommandLine, directory: Path, exit_code: int) -> str:
    """What a person reads of a push that ends before any target is contacted."""
    line = ("-C", directory, "push", "--container", "local:/nowhere")
    result = check_manners(cli(*line))
    assert (result.exit_code, result.stdout) == (exit_code, ""), result
    assert len(result.stderr.splitlines()) == 2, result.stderr
    answer = check_answer(cli(*line, "--json"))
    assert answer["exit_code"] == exit_code
    return result.stderr


def test_no_repository(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    said = push_from(cli, tmp_path / "plain", 2)
    assert f"'{tmp_path}/plain' is not in a git repository" in said
    assert "-C DIR" in said
    assert "is not a directory" in push_from(cli, tmp_path / "missing", 2)


def test_checkouts_at_odd_places(local: LocalScenario, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9 ' two words")
    local.project.path.rename(odd)
    local.project.path = odd
    local.edit_generation()
    assert local("push").exit_code == 0
    assert local.answer() == "generation 2: 1.0"
    assert check_manners(local.cli("-C", odd, "manifest", "list")).stdout.count("\n") == 1
    assert local("revert").exit_code == 0
    odd.rename(tmp_path / "two\nlines")
    said = push_from(local.cli, tmp_path / "two\nlines", 2)
    assert "line break" in said


def test_a_bare_repository(cli: CommandLine, tmp_path: Path) -> None:
    Repository(tmp_path / "work").git("init", "--quiet", "--bare", str(tmp_path / "bare"))
    said = push_from(cli, tmp_path / "bare", 2)
    assert "git director" in said or "bare repository" in said
    assert "checkout" in said


def test_no_commit_yet(cli: CommandLine, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "new")
    said = push_from(cli, repository.path, 4)
    assert "has no commit at HEAD" in said


@pytest.mark.parametrize("operation", ["merge", "rebase", "cherry-pick", "bisect"])
def test_in_the_middle_of_something(local: LocalScenario, operation: str) -> None:
    project = local.project
    base = project.head
    project.git("switch", "--quiet", "--create", "other")
    local.edit_generation(7)
    project.commit("Seven")
    project.git("switch", "--quiet", "main")
    local.edit_generation(8)
    project.commit("Eight")
    commands = {
        "merge": ("merge", "other"),
        "rebase": ("rebase", "other"),
        "cherry-pick": ("cherry-pick", "other"),
        "bisect": ("bisect", "start"),
    }
    with contextlib.suppress(RuntimeError):  # a conflict is what is wanted
        project.git(*commands[operation])
    answer = local.refused()
    assert (answer["exit_code"], codes(answer)) == (4, ["baseline"])
    assert operation in answer["problems"][0]["message"]
    assert f"git {operation}" in answer["problems"][0]["next_step"]
    project.git(*(("bisect", "reset") if operation == "bisect" else (operation, "--abort")))
    project.git("reset", "--quiet", "--hard", base)
    local.edit_generation()
    local.applied()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[package]]\ngenrated = []\n", ("package[0].genrated: unknown key", "allowed here: ", "generated")),
        ("target = 3\n", ("target: got an integer; expected a target", "docker:my-dev")),
        ('[[package]]\nships = "a"\n', ("package[0].ships: got a string; expected an array", "ships = [")),
        ("[package\n", ("no valid TOML", "line 1")),
        ('[[package]]\ngenerated = ["**"]\n', ('"**" is not allowed', "generated = [")),
        ('command = "rm -rf /"\n', ("command: unknown key", "remove the key")),
    ],
)
def test_a_configuration_with_a_mistake(local: LocalScenario, text: str, says: tuple[str, ...]) -> None:
    file = local.project.write("overlaysync.toml", text)
    local.edit_generation()
    result = local("push")
    assert (result.exit_code, result.stdout) == (2, "")
    assert str(file) in result.stderr
    for part in says:
        assert part in result.stderr
    answer = local.refused()
    assert (answer["exit_code"], codes(answer)) == (2, ["configuration"])
    file.unlink()
    local.applied()


def test_several_packages_are_told_apart_by_name(local: LocalScenario) -> None:
    local.project.write(
        "overlaysync.toml", '[[package]]\ndistribution = "sample-pkg"\n[[package]]\ndistribution = "b"\n'
    )
    local.edit_generation()
    answer = local.refused()
    assert answer["exit_code"] == 2
    assert "sample-pkg, b" in answer["problems"][0]["message"]
    local.applied("--distribution", "Sample_Pkg")


def test_a_file_that_never_rests(local: LocalScenario) -> None:
    """Nothing half-written is ever installed: what is there is old, or whole."""
    path = local.project.path / "sample_pkg" / "engine.py"
    original = path.read_text()
    place = local.environment.site_packages / "sample_pkg" / "engine.py"
    over = threading.Event()

    def write_on() -> None:
        turn = 0
        while not over.is_set():
            turn += 1
            path.write_text(original + f"# {turn}\n" * 20_000)

    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        answers = [local.push() for _ in range(2)]
    finally:
        over.set()
        writer.join()
    for answer in answers:
        assert answer["exit_code"] in (0, 3, 8), answer
        assert answer["exit_code"] == 0 or codes(answer) in (["unstable-file"], ["syntax-error"])
    lines = set(place.read_text().removeprefix(original).splitlines())
    assert len(lines) <= 1
    path.write_text(original.replace("GENERATION = 1", "GENERATION = 2"))
    local.applied()
    assert local.answer() == "generation 2: 1.0"


def test_links_and_special_files_in_the_package(local: LocalScenario) -> None:
    local.edit_generation()
    link = local.project.path / "sample_pkg" / "alias.py"
    link.symlink_to("engine.py")
    answer = local.refused()
    assert (answer["exit_code"], codes(answer)) == (3, ["link-change"])
    link.unlink()
    os.mkfifo(link)
    result = local("push")
    assert result.exit_code in (0, 3)  # a FIFO is no content; git does not see it either
    link.unlink()
    engine = local.project.path / "sample_pkg" / "engine.py"
    text = engine.read_text()
    engine.unlink()
    engine.symlink_to("config.py")
    answer = local.refused()
    assert (answer["exit_code"], codes(answer)) == (3, ["link-change"])
    engine.unlink()
    engine.write_text(text)
    assert local.push()["exit_code"] == 0


def test_an_unreadable_file(local: LocalScenario) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    path = local.project.path / "sample_pkg" / "engine.py"
    path.chmod(0)
    answer = local.refused()
    assert (answer["exit_code"], codes(answer)) == (3, ["unreadable-file"])
