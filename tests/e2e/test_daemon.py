"""The daemon: several pairs in one process, each by itself."""

from __future__ import annotations

import os
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.vocabulary import is_running
from tests.e2e.scenario import LocalScenario, Scenario, check_answer, set_locally
from tests.parts.command_line import CommandLine

NEW_CODE = "generation 2: 1.0"


class Daemon:
    """The commands, and the file of pairs."""

    def __init__(self, cli: CommandLine, file: Path) -> None:
        self.cli, self.file = cli, file

    def __call__(self, verb: str, *arguments: str) -> Any:
        return check_answer(self.cli("daemon", verb, "--json", *arguments))

    def pairs(self, *pairs: tuple[Path, str, str | None]) -> None:
        """Worktree, target, and the image commit where it has to be given."""
        tables = []
        for worktree, target, commit in pairs:
            tables.append(f'[[pair]]\nworktree = "{worktree}"\ntarget = "{target}"\n')
            tables.append(f'image-commit = "{commit}"\n' if commit else "")
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text("".join(tables))

    def events(self) -> list[str]:
        return [pair["event"] for pair in self("status")["details"]["pairs"]]


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture
def daemon(cli: CommandLine, isolation: Path) -> Iterator[Daemon]:
    daemon = Daemon(cli, isolation / ".config/overlaysync/daemon.toml")
    yield daemon
    daemon("stop")


def pair_of(local: LocalScenario) -> tuple[Path, str, str]:
    return local.project.path, local.target, local.options[1]


def test_a_dead_pair_does_not_stop_another(daemon: Daemon, local: LocalScenario, tmp_path: Path) -> None:
    nowhere = (local.project.path, "local:/nowhere", None)
    daemon.pairs(pair_of(local), nowhere, (tmp_path / "absent", "local:/nowhere", None))
    answer = daemon("start")
    assert answer["details"]["pid"]
    [note] = answer["details"]["notes"]
    assert str(tmp_path / "absent") in note
    until(lambda: daemon.events() == ["unchanged", "lost", "refused"])  # the last is no worktree at all
    local.edit_generation()
    until(lambda: daemon.events()[0] == "applied")  # to run the package before that would be a workload
    assert local.answer() == NEW_CODE
    first, second, _ = daemon("status")["details"]["pairs"]
    assert (first["pushes"], second["pushes"]) == (1, 0)
    assert first["last_push"] == first["since"]
    assert "/nowhere" in second["message"]
    assert second["next_step"]
    told = local.cli("daemon", "status").stdout
    assert "applied" in told
    assert "lost" in told
    assert f"→ {second['next_step']}" in told
    logs = local.cli("daemon", "logs").stdout
    assert logs.count("there is no environment at") == 1  # told once, however often it is tried
    assert "applied: sample_pkg/engine.py" in logs


def test_a_pair_tells_that_its_overlay_was_taken_away(daemon: Daemon, local: LocalScenario) -> None:
    local.edit_generation()
    daemon.pairs(pair_of(local))
    daemon("start")
    until(lambda: daemon.events() == ["applied"])
    assert local.ask("revert")["outcome"] == "applied"
    until(lambda: daemon.events() == ["paused"])
    assert "taken away" in local.cli("daemon", "logs").stdout
    assert local.answer() == "generation 1: 1.0"


def test_it_ends_clean(daemon: Daemon, local: LocalScenario) -> None:
    daemon.pairs(pair_of(local))
    pid = daemon("start")["details"]["pid"]
    until(lambda: daemon.events() == ["unchanged"])
    children = [
        child
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]
    assert children
    assert daemon("stop")["exit_code"] == 0
    until(lambda: not any(is_running(int(child)) for child in (*children, pid)), 5)
    state = Path(os.environ["XDG_STATE_HOME"]) / "overlaysync/daemon"
    assert not (state / "socket").exists()
    assert daemon("status")["exit_code"] == 1
    assert daemon("stop")["details"]["sentence"] == "no daemon runs"
    local.edit_generation()
    assert local.push()["outcome"] == "applied"  # no lock was left


def test_there_is_one_daemon_and_its_socket_is_private(daemon: Daemon, local: LocalScenario) -> None:
    daemon.pairs(pair_of(local))
    pid = daemon("start")["details"]["pid"]
    state = Path(os.environ["XDG_STATE_HOME"]) / "overlaysync/daemon"
    assert stat.S_IMODE((state / "socket").stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    again = daemon("start")
    assert (again["exit_code"], str(pid) in again["problems"][0]["message"]) == (9, True)
    assert local.cli("daemon", "run").exit_code == 9
    assert daemon("status")["details"]["pid"] == pid


def test_one_that_is_silent_is_not_taken_for_none(daemon: Daemon, local: LocalScenario) -> None:
    daemon.pairs(pair_of(local))
    pid = daemon("start")["details"]["pid"]
    until(lambda: daemon.events() == ["unchanged"])
    os.kill(pid, signal.SIGSTOP)
    try:
        answer = daemon("status")
        assert (answer["exit_code"], "does not answer" in answer["problems"][0]["message"]) == (2, True)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert daemon("stop")["outcome"] == "applied"
    assert daemon("stop")["outcome"] == "unchanged"


def test_one_that_was_killed_hinders_nothing(daemon: Daemon, local: LocalScenario) -> None:
    daemon.pairs(pair_of(local))
    pid = daemon("start")["details"]["pid"]
    os.kill(pid, 9)
    until(lambda: daemon("status")["exit_code"] == 1)
    assert daemon("start")["details"]["pid"] != pid
    until(lambda: daemon.events() == ["unchanged"])


@pytest.mark.container
def test_a_container_that_is_made_anew(daemon: Daemon, scenario: Scenario) -> None:
    image = str(scenario.container.inspect()["Image"])
    daemon.pairs((scenario.project.path, f"docker:{scenario.container.name}", None))
    daemon("start")
    scenario.edit_generation()
    until(lambda: daemon.events() == ["applied"])
    scenario.container.remove()
    until(lambda: daemon.events() == ["lost"])
    options = ["--detach", "--network=none", "--name", scenario.container.name]
    scenario.container.engine.run("run", *options, image)
    until(lambda: daemon.events() == ["applied"])
    assert scenario.answer() == NEW_CODE
    scenario.container.remove()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "names no pair"),
        ("[[pair]]\n", "worktree"),
        ('[[pair]]\nworktree = "relative"\ntarget = "x"\n', "no absolute path"),
        ('[[pair]]\nworktree = "/a"\ntarget = "x"\nrun = "touch it"\n', "run"),
        ('[[pair]]\nworktree = "/a"\ntarget = "x"\n' * 2, "twice"),
        (
            '[[pair]]\nworktree = "/a"\ntarget = "x"\ndistribution = "d"\n'
            '[[pair]]\nworktree = "/b"\ntarget = "x"\ndistribution = "d"\n',
            "over each other",
        ),
        ("[[pair", "TOML"),
    ],
)
def test_a_wrong_file(daemon: Daemon, text: str, says: str) -> None:
    daemon.file.parent.mkdir(parents=True, exist_ok=True)
    daemon.file.write_text(text)
    answer = daemon("start")
    assert (answer["exit_code"], says in answer["problems"][0]["message"]) == (2, True), answer
    assert answer["problems"][0]["next_step"]


def test_without_a_file_it_says_what_to_write(daemon: Daemon) -> None:
    answer = daemon("start")
    assert (answer["exit_code"], "pair = [{ worktree" in answer["problems"][0]["next_step"]) == (2, True)


def test_the_log_is_rotated(daemon: Daemon, local: LocalScenario) -> None:
    daemon.pairs(pair_of(local))
    log = Path(os.environ["XDG_STATE_HOME"]) / "overlaysync/daemon/log"
    log.parent.mkdir(parents=True, mode=0o700)
    log.write_text("x" * (1 << 20))
    daemon("start")
    until(lambda: log.with_name("log.1").exists())
    assert "started: pid" in local.cli("daemon", "logs", "--lines", "5").stdout


def test_a_systemd_unit(daemon: Daemon, isolation: Path) -> None:
    answer = daemon("unit")
    unit = Path(answer["details"]["unit"])
    text = unit.read_text()
    assert f"ExecStart={sys.executable} -m overlaysync daemon run" in text
    assert daemon("unit")["exit_code"] == 0
    other = ("unit", "--file", "/a place/100%.toml")
    assert daemon(*other)["exit_code"] == 2  # what stands there may have been edited
    assert unit.read_text() == text
    unit.unlink()
    text = Path(daemon(*other)["details"]["unit"]).read_text()
    assert 'run --file "/a place/100%%.toml"\n' in text


def test_two_worktrees(daemon: Daemon, cli: CommandLine, tmp_path: Path) -> None:
    both = [set_locally(cli, tmp_path / name) for name in ("one", "two")]
    daemon.pairs(*map(pair_of, both))
    daemon("start")
    for local in both:
        local.edit_generation()
    until(lambda: daemon.events() == ["applied", "applied"])
    assert [local.answer() for local in both] == [NEW_CODE, NEW_CODE]
