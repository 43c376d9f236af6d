"""One worktree into several targets: all of them have it, or each is as it was."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import relay
from tests.e2e.faults.test_host import ended, newest, recorded, wait_for
from tests.e2e.scenario import (
    LocalScenario,
    Scenario,
    Stage,
    Tree,
    check_answer,
    check_manners,
    codes,
    set_locally,
)
from tests.e2e.test_sequence import sources
from tests.parts.command_line import CommandLine
from tests.parts.environments import make_environment

LINE = "GENERATION = 1"


@dataclass
class Pair:
    """Two environments of one project, as one command line has them."""

    first: LocalScenario
    second: LocalScenario

    def both(self) -> tuple[LocalScenario, LocalScenario]:
        return self.first, self.second

    def line(self, command: str, *options: str) -> list[str]:
        evidence = self.first.options if command in ("push", "status") else []
        targets = [f"--container={work.target}" for work in self.both()]
        return ["-C", str(self.first.project.path), command, *targets, *evidence, *options]

    def ask(self, command: str, *options: str) -> Any:
        return check_answer(self.first.cli(*self.line(command, "--json", *options)))

    def files(self) -> list[Tree]:
        return [sources(work.files()) for work in self.both()]

    def says(self) -> list[str]:
        return [work.answer() for work in self.both()]


@pytest.fixture
def pair(local: LocalScenario, tmp_path: Path) -> Pair:
    local.edit_generation()
    return Pair(local, beside(local, tmp_path / "second"))


def beside(local: LocalScenario, prefix: Path) -> LocalScenario:
    """Another environment that holds the same wheel."""
    environment = make_environment(prefix)
    environment.install(next((prefix.parent / "wheels").glob("*.whl")))
    return replace(local, environment=environment)


def outcomes(answer: Any) -> list[str]:
    return [target["outcome"] for target in answer["targets"]]


def test_what_is_pushed_arrives_in_both(pair: Pair) -> None:
    before = pair.files()
    planned = pair.ask("push", "--dry-run")
    assert (planned["outcome"], outcomes(planned)) == ("planned", ["planned", "planned"])
    assert pair.files() == before
    answer = pair.ask("push")
    assert (answer["outcome"], answer["exit_code"], answer["target"]) == ("applied", 0, None)
    assert outcomes(answer) == ["applied", "applied"]
    assert [target["target"]["name"] for target in answer["targets"]] == [
        work.target.removeprefix("local:") for work in pair.both()
    ]
    assert pair.says() == ["generation 2: 1.0"] * 2
    ids = [recorded(work)["id"] for work in pair.both()]
    assert [Path(target["manifest"]).stem for target in answer["targets"]] == ids
    assert ids[0] != ids[1]
    assert (pair.ask("verify")["exit_code"], outcomes(pair.ask("status"))) == (0, ["unchanged"] * 2)
    assert outcomes(pair.ask("push")) == ["unchanged", "unchanged"]
    assert outcomes(pair.ask("revert")) == ["applied", "applied"]
    assert pair.files() == before


def test_one_that_has_it_already_is_left_alone(pair: Pair) -> None:
    pair.second.applied()
    answer = pair.ask("push")
    assert (answer["outcome"], outcomes(answer)) == ("applied", ["applied", "unchanged"])
    assert pair.says() == ["generation 2: 1.0"] * 2
    assert newest(pair.first)["target"]["name"] == str(pair.first.environment.prefix)


def test_what_refuses_in_one_refuses_in_all(pair: Pair) -> None:
    engine = pair.second.environment.site_packages / "sample_pkg/engine.py"
    original, before = engine.read_text(), pair.first.traces()
    engine.write_text(original + "# by hand\n")
    answer = pair.ask("push")
    assert (answer["outcome"], answer["exit_code"]) == ("refused", 5)
    assert outcomes(answer) == ["refused", "refused"]
    assert [codes(target) for target in answer["targets"]] == [["another-target"], ["original-differs"]]
    assert codes(answer) == ["original-differs"]
    assert pair.first.traces() == before
    engine.write_text(original)
    assert outcomes(pair.ask("push")) == ["applied", "applied"]


def test_one_that_cannot_be_reached_is_told_with_what_stands_in_the_way_of_others(pair: Pair) -> None:
    before = pair.first.traces()
    line = [part for part in pair.line("push", "--json") if pair.second.target not in part]
    answer = check_answer(pair.first.cli(*line, "--container", "local:/nowhere"))
    assert (answer["outcome"], answer["exit_code"]) == ("failed", 7)
    assert codes(answer["targets"][0]) == ["another-target"]
    assert (answer["targets"][1]["target"]["kind"], answer["targets"][1]["target"]["name"]) == (
        "local",
        "/nowhere",
    )
    assert pair.first.traces() == before


REQUESTS = ("open", "look", "begin", "apply", "read_back", "write_record")
LOST = "(agent.kill(), sys.exit(1))"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """Every test leaves both as they were."""
    directory = tmp_path_factory.mktemp("pair")
    local = set_locally(CommandLine(directory), directory)
    local.edit_generation()
    return Pair(local, beside(local, directory / "second"))


@contextmanager
def relayed(work: LocalScenario, request_name: str, evil: str) -> Iterator[None]:
    """A relay that does harm for as long as this lasts."""
    relay.install(work.environment.prefix, request_name, evil)
    try:
        yield
    finally:
        relay.install(work.environment.prefix, "", "")


@pytest.mark.parametrize("request_name", REQUESTS)
def test_what_fails_in_one_is_rolled_back_in_all(shared: Pair, request_name: str, tmp_path: Path) -> None:
    """Its agent is lost at each request that it answers before the record."""
    before, asked = shared.files(), tmp_path / "asked"
    note = f"(open({str(asked)!r}, 'w').close(), frame(reply))[1]"
    with relayed(shared.second, request_name, LOST), relayed(shared.first, "apply", note):
        answer = shared.ask("push")
    assert (answer["outcome"], answer["exit_code"]) == ("failed", 7)
    held_back, lost = answer["targets"]
    assert (codes(held_back), codes(lost)) == (["another-target"], ["agent-lost"]), held_back["problems"]
    assert f"{shared.second.target} could not be changed" in held_back["problems"][0]["message"]
    assert shared.files()[0] == before[0]
    assert recorded(shared.first) is None
    # what is read back is asked for before that, too
    assert asked.exists() is (request_name in ("apply", "write_record"))
    leads_on(shared, before)


def leads_on(pair: Pair, before: list[Tree]) -> None:
    """After the next contact both are as they were, and a push and its revert do their work."""
    assert outcomes(pair.ask("status")) == ["planned", "planned"]
    assert pair.files() == before
    assert outcomes(pair.ask("push")) == ["applied", "applied"]
    assert pair.says() == ["generation 2: 1.0"] * 2
    assert outcomes(pair.ask("revert")) == ["applied", "applied"]
    assert pair.files() == before


def test_a_full_disk_at_the_record_of_one_is_rolled_back_in_all(shared: Pair) -> None:
    """All that takes room is written before they agree for the last time."""
    before = shared.files()
    no_room = f"__import__('resource').prlimit(agent.pid, {resource.RLIMIT_FSIZE}, (100, 100))"
    with relayed(shared.second, "apply", f"({no_room}, frame(reply))[1]"):
        answer = shared.ask("push")
    assert (answer["outcome"], answer["exit_code"]) == ("failed", 8)
    assert outcomes(answer) == ["failed", "failed"]
    assert "cannot be recorded" in answer["targets"][1]["problems"][0]["message"]
    assert [recorded(work) for work in shared.both()] == [None, None]
    leads_on(shared, before)


def test_what_changes_while_the_others_record_is_seen(shared: Pair) -> None:
    """The fast one is proven long before the slow one is, and edited by hand meanwhile."""
    before, engine = shared.files(), shared.first.environment.site_packages / "sample_pkg/engine.py"
    edit = f"open({str(engine)!r}, 'ab').write(b'# by hand')"
    with relayed(shared.second, "write_record", f"(time.sleep(5), {edit}, frame(reply))[2]"):
        answer = shared.ask("push")
    assert answer["exit_code"] == 8, answer
    engine.unlink()
    leads_on(shared, before)


def test_what_changes_while_another_is_proven_again_is_not_recorded(shared: Pair) -> None:
    """Both are proven again, since one was slow; and the other one is slow at that."""
    before, engine = shared.files(), shared.second.environment.site_packages / "sample_pkg/engine.py"
    count = "globals().update(times=globals().get('times', 0) + 1)"
    edit = f"(time.sleep(6), open({str(engine)!r}, 'ab').write(b'GENERATION = 77'))"
    slow = f"({count}, {edit} if times == 3 else None, frame(reply))[2]"  # two proofs ask three times
    late = "(time.sleep(4), frame(reply))[1]"
    with relayed(shared.second, "write_record", late), relayed(shared.first, "read_back", slow):
        answer = shared.ask("push")
    assert (answer["exit_code"], outcomes(answer)[1]) == (8, "failed")
    assert "engine.py" in answer["targets"][1]["problems"][0]["message"]
    assert recorded(shared.second) is None
    engine.unlink()
    shared.ask("push")
    assert shared.says() == ["generation 2: 1.0"] * 2
    shared.ask("revert")
    assert shared.files() == before


def test_an_interrupt_names_the_targets_to_look_at(shared: Pair, tmp_path: Path) -> None:
    before, reached = shared.files(), tmp_path / "reached"
    with relayed(shared.second, "open", f"hold({str(reached)!r})"):
        process = begun(shared)
        wait_for(reached, process)
        process.send_signal(signal.SIGINT)
        [problem] = check_answer(ended(process))["problems"]
    assert problem["next_step"].startswith("see where things stand: overlaysync -C ")
    for work in shared.both():
        assert f" --container {work.target}" in problem["next_step"]
    leads_on(shared, before)


def test_a_record_that_is_lost_is_told_of_its_target_alone(shared: Pair) -> None:
    """The last step of each is its own: what the others have recorded stands, and is said to stand."""
    before = shared.files()
    with relayed(shared.second, "record", LOST):
        answer = shared.ask("push")
    assert (answer["outcome"], answer["exit_code"]) == ("failed", 7)
    assert answer["targets"][1]["outcome"] == "failed"
    stands = answer["targets"][0]["outcome"] == "applied"
    assert stands is (recorded(shared.first) is not None)
    assert shared.first.answer() == f"generation {2 if stands else 1}: 1.0"
    shared.ask("push")
    assert shared.says() == ["generation 2: 1.0"] * 2
    shared.ask("revert")
    assert shared.files() == before


def test_what_started_meanwhile_is_told_where_all_is_taken_back(shared: Pair, tmp_path: Path) -> None:
    """It has loaded what no target holds any more."""
    before, reached = shared.files(), tmp_path / "reached"
    slow = f"(open({str(reached)!r}, 'w').close(), time.sleep(9), agent.kill(), sys.exit(1))"
    with relayed(shared.second, "apply", slow):
        process = begun(shared)
        wait_for(reached, process)
        engine, deadline = (
            shared.first.environment.site_packages / "sample_pkg/engine.py",
            time.monotonic() + 20,
        )
        while "GENERATION = 2" not in engine.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(4)  # by now it has been proven, and waits
        program = [str(shared.first.environment.executable), "-c", "import sample_pkg, time; time.sleep(60)"]
        server = subprocess.Popen(program, cwd=tmp_path)
        try:
            answer = check_answer(ended(process))
        finally:
            server.kill()
            server.wait()
    message = answer["targets"][0]["problems"][0]["message"]
    assert f"process {server.pid}" in message
    assert "may have loaded what was taken back" in message
    leads_on(shared, before)


def test_what_changes_while_another_is_waited_for_is_seen(shared: Pair) -> None:
    """The look at the fast one is old by the time at which the slow one has been looked at."""
    before, config = shared.files(), shared.first.environment.site_packages / "sample_pkg/config.py"
    original, status = config.read_bytes(), config.stat()
    edit = f"open({str(config)!r}, 'ab').write(b'# drift')"
    with relayed(shared.second, "look", f"(time.sleep(5), {edit}, frame(reply))[2]"):
        answer = shared.ask("push")
    assert (answer["exit_code"], codes(answer)) == (5, ["target-changed"])
    assert outcomes(answer) == ["refused", "refused"]
    config.write_bytes(original)
    os.utime(config, ns=(status.st_atime_ns, status.st_mtime_ns))
    leads_on(shared, before)


def test_what_was_settled_is_told_of_a_target_that_is_held_back(shared: Pair) -> None:
    before = shared.files()
    with relayed(shared.first, "apply", LOST):
        shared.first.push()
    engine = shared.second.environment.site_packages / "sample_pkg/engine.py"
    original, status = engine.read_bytes(), engine.stat()
    engine.write_bytes(original + b"# by hand")
    answer = shared.ask("push")
    assert codes(answer["targets"][0]) == ["another-target"]
    assert "rolled back" in str(answer["targets"][0]["details"]["recovered"])
    engine.write_bytes(original)
    os.utime(engine, ns=(status.st_atime_ns, status.st_mtime_ns))
    leads_on(shared, before)


def test_a_lock_may_be_that_of_another_target_of_the_same_run(shared: Pair) -> None:
    """One install root in two containers: neither knows of the other."""
    handle = os.open(shared.second.environment.site_packages, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        answer = shared.ask("push")
    finally:
        os.close(handle)
    assert (answer["exit_code"], codes(answer)) == (9, ["locked"])
    assert "another target of this command shares it" in answer["problems"][0]["message"]
    assert outcomes(shared.ask("push")) == ["applied", "applied"]
    shared.ask("revert")


def begun(pair: Pair) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "overlaysync", *pair.line("push", "--json")],
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("request_name", "number"),
    [*((name, signal.SIGINT) for name in ("interpreters", "begin", "apply")), ("apply", signal.SIGKILL)],
)
def test_a_host_that_ends_in_the_middle(
    shared: Pair, request_name: str, number: signal.Signals, tmp_path: Path
) -> None:
    """While it waits for one of them, the other one is as far as it may go alone."""
    before, reached = shared.files(), tmp_path / "reached"
    with relayed(shared.second, request_name, f"hold({str(reached)!r})"):
        process = begun(shared)
        wait_for(reached, process)
        process.send_signal(number)
        result = ended(process)
    if number is signal.SIGINT:
        assert codes(check_answer(result)) == ["interrupted"]
    leads_on(shared, before)


def test_an_interrupt_while_content_is_sent(shared: Pair, tmp_path: Path) -> None:
    """The agent gets no more of it, whoever is sending it just then."""
    large = shared.first.project.path / "sample_pkg/layers/norm.py"
    original = large.read_bytes()
    before, reached = shared.files(), tmp_path / "reached"
    large.write_text("#" + "x" * 20_000_000 + "\n")
    slow = f"(open({str(reached)!r}, 'w').close(), send(1, frame(reply)), time.sleep(20), b'')[3]"
    try:
        with relayed(shared.second, "begin", slow):
            process = begun(shared)
            wait_for(reached, process)
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            assert codes(check_answer(ended(process))) == ["interrupted"]
    finally:
        large.write_bytes(original)
    leads_on(shared, before)


def test_an_interrupt_past_the_last_point_leaves_no_half(shared: Pair, tmp_path: Path) -> None:
    """All have agreed, and one of them is slow to write its record."""
    reached = tmp_path / "reached"
    slow = f"(open({str(reached)!r}, 'w').close(), time.sleep(1), frame(reply))[2]"
    before = shared.files()
    with relayed(shared.second, "record", slow):
        process = begun(shared)
        wait_for(reached, process)
        process.send_signal(signal.SIGINT)
        assert codes(check_answer(ended(process))) == ["interrupted"]
    assert [recorded(work) is not None for work in shared.both()] == [True, True]
    assert shared.says() == ["generation 2: 1.0"] * 2
    assert outcomes(shared.ask("revert")) == ["applied", "applied"]
    assert shared.files() == before


def test_a_command_for_one_target_takes_no_other(pair: Pair) -> None:
    """It would work with the last one, and say nothing of the others."""
    for command in ("watch", "doctor", "port", "init"):
        answer = pair.first.cli(*pair.line(command), "--json" if command != "watch" else "--poll")
        assert answer.exit_code == 2
        assert "takes one --container" in answer.stdout + answer.stderr


WRONG: dict[str, tuple[Callable[[Pair], list[str]], str]] = {
    "one target twice": (lambda pair: ["--container", pair.first.target], "named twice"),
    "a state that is carried": (lambda _: ["--port"], "--port goes with one"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_meant_is_a_usage_error(pair: Pair, name: str) -> None:
    options, said = WRONG[name]
    answer = pair.ask("push", *options(pair))
    assert (answer["exit_code"], codes(answer)) == (2, ["usage"])
    assert said in answer["problems"][0]["message"]


def test_one_target_by_two_names_is_a_usage_error(pair: Pair, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.symlink_to(pair.first.environment.prefix)
    line = ["-C", str(pair.first.project.path), "push", "--json", *pair.first.options]
    answer = check_answer(
        pair.first.cli(*line, "--container", pair.first.target, "--container", f"local:{other}")
    )
    assert (answer["exit_code"], codes(answer)) == (2, ["usage"])
    assert "are the same target" in answer["problems"][0]["message"]
    assert pair.first.answer() == "generation 1: 1.0"


def last_line(pair: Pair, command: str) -> str:
    return check_manners(pair.first.cli(*pair.line(command))).stdout.splitlines()[-1]


def test_an_interpreter_of_another_environment_is_no_part_of_the_target(pair: Pair) -> None:
    """What is said of one environment would be done to the other."""
    other = str(pair.second.environment.prefix / "bin" / "python3")
    before = pair.files()
    answer = pair.first.ask("push", "--interpreter", other)
    assert (answer["exit_code"], codes(answer)) == (2, ["usage"])
    assert pair.files() == before
    own = str(pair.first.environment.prefix / "bin" / "python3")
    assert pair.first.applied("--interpreter", own)["target"]["interpreter"] == own


def test_a_person_is_told_of_each_and_of_all(pair: Pair) -> None:
    shown = check_manners(pair.first.cli(*pair.line("push"))).stdout
    assert shown.count("applied: 1 file, read back") == 2
    assert shown.splitlines()[-1] == "✓ applied in all 2 targets"
    assert last_line(pair, "verify") == "✓ unchanged in all 2 targets"
    engine = pair.second.environment.site_packages / "sample_pkg/engine.py"
    engine.write_text(engine.read_text() + "# by hand\n")
    pair.first.edit_generation(3)
    names = [work.target.removeprefix("local:") for work in pair.both()]
    assert last_line(pair, "push") == f"✗ refused in {names[1]}; held back in {names[0]} · exit 5"
    assert last_line(pair, "verify") == f"✗ findings in {names[1]}; unchanged in {names[0]} · exit 1"
    assert last_line(pair, "status") == f"✗ findings in {names[1]}; planned in {names[0]} · exit 1"


@pytest.mark.parametrize("command", ["status", "verify"])
def test_what_is_only_looked_at_is_told_of_each_by_itself(pair: Pair, command: str) -> None:
    with relayed(pair.second, "open", LOST):
        answer = pair.ask(command)
        shown = check_manners(pair.first.cli(*pair.line(command))).stdout
    fine = "planned" if command == "status" else "unchanged"
    assert (answer["outcome"], answer["exit_code"], outcomes(answer)) == ("failed", 7, [fine, "failed"])
    names = [work.target.removeprefix("local:") for work in pair.both()]
    assert shown.splitlines()[-1] == f"✗ failed in {names[1]}; {fine} in {names[0]} · exit 7"
    assert "✗ failed (exit 7)" in shown


@pytest.mark.container
def test_two_containers_of_one_image(stage: Stage) -> None:
    project = stage.project()
    tag = stage.image(project)
    works: list[Scenario] = [stage.start(project, tag) for _ in range(2)]
    works[0].edit_generation()
    before = [work.traces() for work in works]
    answer = works[0].push("--container", works[1].target, "--container", "no-such-container")
    assert (answer["exit_code"], codes(answer)) == (7, ["no-container"])
    assert [work.traces() for work in works] == before
    answer = works[0].push("--container", works[1].target)
    assert (outcomes(answer), [work.answer() for work in works]) == (
        ["applied"] * 2,
        ["generation 2: 1.0"] * 2,
    )
    same = works[0].push("--container", answer["targets"][0]["target"]["container_id"])
    assert (same["exit_code"], codes(same)) == (2, ["usage"])
