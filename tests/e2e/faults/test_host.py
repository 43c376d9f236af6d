"""The host's process killed and interrupted at each request that it makes of the agent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import relay
from tests.e2e.scenario import LocalScenario, Tree, Work, check_answer, codes, set_locally
from tests.e2e.test_sequence import sources
from tests.parts.command_line import CommandLine, Result

REQUESTS = (
    "interpreters",
    "processes",
    "open",
    "look",
    "begin",
    "apply",
    "read_back",
    "write_record",
    "record",
)
"""Of one push, in their order; the host waits for the answer to each."""

INT, TERM, HUP, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL
SIGNALS: dict[str, tuple[Sequence[int], Sequence[str]]] = {
    "killed": ((KILL,), REQUESTS),
    "Ctrl-C": ((INT,), REQUESTS),
    "Ctrl-C twice": ((INT, INT), ("apply", "record")),
    "terminated": ((TERM,), ("apply", "record")),
    "hung up": ((HUP,), ("apply", "record")),
}
FAULTS = [(name, request) for name, (_, requests) in SIGNALS.items() for request in requests]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> LocalScenario:
    """A change of every kind; every test leaves the environment as it was."""
    directory = tmp_path_factory.mktemp("host")
    work = set_locally(CommandLine(directory), directory)
    work.edit_generation()
    work.project.write("sample_pkg/fresh/__init__.py", "")
    work.project.write("sample_pkg/fresh/new.py", "NEW = 1\n")
    (work.project.path / "sample_pkg/models/tiny.py").unlink()
    return work


def start(work: Work, *options: str, **variables: str) -> subprocess.Popen[str]:
    line = ["-C", str(work.project.path), "push", "--json", "--container", work.target, *work.options]
    return subprocess.Popen(
        [sys.executable, "-m", "overlaysync", *line, *options],
        cwd=work.cli.directory,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(process: subprocess.Popen[str]) -> Result:
    out, err = process.communicate(timeout=60)
    return Result(process.returncode, out, err)


def wait_for(place: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not place.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(("name", "request_name"), FAULTS, ids=[f"{one}-{other}" for one, other in FAULTS])
def test_a_host_that_is(shared: LocalScenario, name: str, request_name: str, tmp_path: Path) -> None:
    numbers, before = SIGNALS[name][0], sources(shared.files())
    reached = tmp_path / "reached"
    relay.install(shared.environment.prefix, request_name, f"hold({str(reached)!r})")
    process = start(shared)
    wait_for(reached, process)
    for number in numbers:
        process.send_signal(number)
    result = ended(process)
    if numbers == (INT,):
        assert codes(check_answer(result)) == ["interrupted"]
    relay.install(shared.environment.prefix, "", "")
    recovers(shared, before, new=request_name == "record")


def recovers(work: LocalScenario, before: Tree, *, new: bool) -> None:
    """After the next contact: one of both trees, the host's records agree, and both ways lead on."""
    status = work.ask("status")
    assert status["problems"] == []
    assert (status["operations"] == []) is new
    assert (sources(work.files()) == before) is not new
    if new:
        assert newest(work) == recorded(work)
    else:
        assert not recorded(work)
        work.applied()
    assert work.ask("revert")["outcome"] == "applied"
    assert sources(work.files()) == before


def recorded(work: LocalScenario) -> Any:
    """The overlay's record in the target."""
    place = work.environment.site_packages / ".overlaysync/sample-pkg/manifest.json"
    return json.loads(place.read_text()) if place.exists() else None


def newest(work: LocalScenario) -> Any:
    """The newest record of this host."""
    line = ("-C", work.project.path, "manifest", "show", "latest", "--json")
    return work.cli(*line).json()["details"]["manifest"]


def test_head_moves_during_the_push(local: LocalScenario) -> None:
    """After the copy and before anything is renamed."""
    local.edit_generation()
    before = sources(local.files())
    line = ["git", "-C", str(local.project.path), "commit", "--quiet", "--all", "--message", "Meanwhile"]
    relay.install(
        local.environment.prefix, "begin", f"(subprocess.run({line!r}, check=True), frame(reply))[1]"
    )
    answer = local.push()
    assert (answer["exit_code"], codes(answer)) == (4, ["baseline"])
    assert "HEAD moved" in answer["problems"][0]["message"]
    assert sources(local.files()) == before
    relay.install(local.environment.prefix, "", "")
    local.project.git("reset", "--quiet", "--soft", local.options[1])
    recovers(local, before, new=False)


def test_another_file_changes_during_the_push(local: LocalScenario) -> None:
    """What was decided is carried out; the next push has the rest."""
    local.edit_generation()
    before = sources(local.files())
    norm = local.project.path / "sample_pkg/layers/norm.py"
    edit = f"open({str(norm)!r}, 'a').write('# meanwhile\\n')"
    relay.install(local.environment.prefix, "begin", f"({edit}, frame(reply))[1]")
    assert [item["source"] for item in local.applied()["operations"]] == ["sample_pkg/engine.py"]
    relay.install(local.environment.prefix, "", "")
    assert [item["source"] for item in local.applied()["operations"]] == ["sample_pkg/layers/norm.py"]
    assert local.ask("revert")["outcome"] == "applied"
    assert sources(local.files()) == before


def test_two_pushes_at_once(local: LocalScenario, tmp_path: Path) -> None:
    """From one host, then from two: one after the other, or one of them finds the lock."""
    before = sources(local.files())
    other = {f"XDG_{name}_HOME": str(tmp_path / "other" / name) for name in ("STATE", "CACHE")}
    for generation, variables in ((2, {}), (3, other)):
        local.edit_generation(generation)
        both = [start(local), start(local, **variables)]
        answers = [check_answer(ended(process)) for process in both]
        outcomes = {answer["outcome"] for answer in answers}
        assert "applied" in outcomes
        assert outcomes <= {"applied", "unchanged"} or [codes(a) for a in answers].count(["locked"]) == 1
        assert local.answer() == f"generation {generation}: 1.0"
        assert local.ask("verify")["exit_code"] == 0
        assert newest(local) == recorded(local)
    assert local.ask("revert", environment=other)["outcome"] == "applied"
    assert sources(local.files()) == before
