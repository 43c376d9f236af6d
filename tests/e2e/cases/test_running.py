"""The files are right, and a process that is up already does not run them."""

from __future__ import annotations

import subprocess
import time
from typing import Any

import pytest

from tests.e2e.cases.seen import Case
from tests.e2e.processes import SERVE, pid_of, start, wait_for
from tests.e2e.scenario import Scenario, codes
from tests.parts.containers import Container

pytestmark = pytest.mark.container

SERVER = """
import time
from sample_pkg import answer
while True:
    with open("/tmp/said", "w") as file:
        file.write(answer())
    open("/tmp/ready", "w").close()
    time.sleep(0.05)
"""
FORKING = """
import os, time
import sample_pkg
def serve():
    with open("/tmp/said", "w") as file:
        file.write(sample_pkg.answer())
    time.sleep(600)
open("/tmp/ready", "w").close()
while not os.path.exists("/tmp/fork"):
    time.sleep(0.02)
if os.fork() == 0:
    with open("/proc/self/comm", "w") as name:
        name.write("worker")
    serve()
time.sleep(600)
"""
"""A fork server: the package is preloaded, and workers are forked later."""
FINDING = """
import importlib, os, time
import sample_pkg.layers
while True:
    try:
        found = importlib.import_module("sample_pkg.layers.added").__name__
    except ModuleNotFoundError as error:
        found = str(error)
    with open("/tmp/said", "w") as file:
        file.write(found)
    open("/tmp/ready", "w").close()
    time.sleep(0.05)
"""
KEEP_TIME = (
    "import os, sys; status = os.stat(sys.argv[1]); open('/tmp/time', 'w').write(str(status.st_mtime_ns))"
)
SET_TIME = "import os, sys; then = int(open('/tmp/time').read()); os.utime(sys.argv[1], ns=(then, then))"
"""What a file system with a coarse clock leaves: the directory's time is that of before."""


def said(container: Container) -> str:
    """What a server says, which says it again and again."""
    container.exec("rm", "-f", "/tmp/said", "/tmp/ready", check=True)
    wait_for(container, "/tmp/ready")
    return last_said(container)


def last_said(container: Container) -> str:
    wait_for(container, "/tmp/said")
    while not (text := container.exec("cat", "/tmp/said", check=True).stdout):
        time.sleep(0.02)  # it is just being written
    return text


def ignore(scenario: Scenario, pattern: str) -> None:
    scenario.project.write("overlaysync.toml", f'[[package]]\nworkload-ignore = ["{pattern}"]\n')


def stale(answer: Any) -> bool:
    return (answer["exit_code"], codes(answer)) == (1, ["stale-process"])


@pytest.mark.case("E16")
def test_a_process_with_the_package_loaded(scenario: Scenario, case: Case) -> None:
    start(scenario.container, "python3", "-c", SERVE)
    pid = pid_of(scenario.container, "sample_pkg.ops")
    scenario.edit_generation()
    answer = case.trap(scenario.refused(), "names the process, its command line and its start")
    assert (answer["exit_code"], codes(answer)) == (6, ["workload"])
    [problem] = answer["problems"]
    assert f"process {pid} " in problem["message"]
    assert "python3 -c import sample_pkg.ops" in problem["message"]
    assert "started 20" in problem["message"]
    end = problem["next_step"].partition("end it: ")[2]
    assert f"'kill {pid}'" in end
    status = scenario.ask("status")
    assert (status["exit_code"], codes(status)) == (0, ["workload"])  # nothing is wrong, only not now
    subprocess.run(end, shell=True, check=True)
    case.control(scenario.applied(), "after its end")
    assert scenario.answer() == "generation 2: 1.0"


@pytest.mark.case("E16")
def test_a_program_with_a_file_of_the_package_open(scenario: Scenario, case: Case) -> None:
    """Whatever it is: what has a file of the package open may be about to load it."""
    place = f"{scenario.site}/sample_pkg/data/defaults.json"
    start(scenario.container, "sh", "-c", f"exec < {place}; touch /tmp/ready; exec sleep 600")
    scenario.edit_generation()
    answer = case.trap(scenario.refused(), "a program that is no Python, with a file of the package open")
    assert (answer["exit_code"], codes(answer)) == (6, ["workload"])
    assert "sleep 600" in answer["problems"][0]["message"]
    scenario.container.exec("rm", "/tmp/ready", check=True)
    [pid] = answer["problems"][0]["message"].split()[1:2]
    scenario.container.exec("kill", pid, check=True)
    start(
        scenario.container, "sh", "-c", f"exec < {place}; exec < /dev/null; touch /tmp/ready; exec sleep 600"
    )
    case.control(scenario.applied(), "the same program, which closed it")


@pytest.mark.case("E16")
def test_a_server_that_was_left_alone(scenario: Scenario, case: Case) -> None:
    """Its owner says that it does not matter; what it runs is the old code all the same, and that is told."""
    container = scenario.container
    start(container, "python3", "-c", SERVER, "harmless")
    ignore(scenario, "*harmless")
    scenario.edit_generation()
    answer = scenario.applied()
    assert "left alone" in str(answer["details"]["notes"])
    assert (said(container), scenario.answer()) == ("generation 1: 1.0", "generation 2: 1.0")  # the trap
    (scenario.project.path / "overlaysync.toml").unlink()
    answer = case.trap(scenario.ask("verify"), "the server says the old, a new process the new")
    assert stale(answer)
    pid = pid_of(container, "harmless")
    assert f"process {pid} started before the last push" in answer["problems"][0]["message"]
    container.exec("kill", pid, check=True)
    container.exec("rm", "-f", "/tmp/ready", check=True)
    start(container, "python3", "-c", SERVER)
    answer = case.control(scenario.ask("verify"), "restarted")
    assert (answer["exit_code"], said(container)) == (0, "generation 2: 1.0")


@pytest.mark.case("E16")
def test_what_a_fork_server_starts_later(scenario: Scenario, case: Case) -> None:
    """The worker started after the push, and has the modules that its parent loaded before."""
    container = scenario.container
    start(container, "python3", "-c", FORKING, "preloaded")
    ignore(scenario, "*preloaded")
    scenario.edit_generation()
    scenario.applied()
    container.exec("touch", "/tmp/fork", check=True)
    assert last_said(container) == "generation 1: 1.0"  # the trap
    (scenario.project.path / "overlaysync.toml").unlink()
    answer = case.trap(scenario.ask("verify"), "both are told, the one that was forked after the push too")
    assert stale(answer)
    told = sorted(" ".join(problem["message"].split()[2:7]) for problem in answer["problems"])
    assert told == ["started before the last push", "was forked from a process"]
    container.exec("kill", *(problem["message"].split()[1] for problem in answer["problems"]), check=True)
    container.exec("rm", "-f", "/tmp/said", "/tmp/ready", "/tmp/fork", check=True)
    start(container, "python3", "-c", FORKING)
    case.control(scenario.ask("verify"), "after a restart of the server")
    assert codes(scenario.ask("verify")) == []


@pytest.mark.case("E18")
def test_a_file_that_a_running_process_does_not_find(scenario: Scenario, case: Case) -> None:
    """It listed the directory before, and by the directory's time nothing has changed since."""
    container, layers = scenario.container, f"{scenario.site}/sample_pkg/layers"
    start(container, "python3", "-c", FINDING, "harmless")
    assert said(container) == "No module named 'sample_pkg.layers.added'"
    container.exec("python3", "-c", KEEP_TIME, layers, check=True)
    scenario.project.write("sample_pkg/layers/added.py", "ADDED = True\n")
    assert scenario.push()["exit_code"] == 6
    ignore(scenario, "*harmless")
    container.exec("kill", "-STOP", pid_of(container, "harmless"), check=True)
    answer = scenario.applied()
    container.exec("python3", "-c", SET_TIME, layers, check=True)
    container.exec("kill", "-CONT", pid_of(container, "harmless"), check=True)
    assert said(container) == "No module named 'sample_pkg.layers.added'"  # the trap
    assert scenario.python("import sample_pkg.layers.added as m; print(m.ADDED)") == "True"
    assert "may not find added files before it is restarted" in str(answer["details"]["notes"])
    case.trap(answer, "proven by a fresh interpreter; who is up already is to be restarted, which is said")
    (scenario.project.path / "overlaysync.toml").unlink()
    assert stale(case.trap(scenario.ask("verify"), "the process that is up does not find it"))
    container.exec("kill", pid_of(container, "harmless"), check=True)
    start(container, "python3", "-c", FINDING)
    assert said(container) == "sample_pkg.layers.added"
    answer = case.control(scenario.ask("verify"), "a process that was started later finds it")
    assert answer["exit_code"] == 0
