"""Processes of the target that could have the package loaded: nothing is written while one runs."""

from __future__ import annotations

import threading

import pytest

from tests.e2e.processes import SERVE, pid_of, start
from tests.e2e.scenario import Scenario, Stage, codes
from tests.parts.containers import Container

pytestmark = pytest.mark.container

ERASE = """
import sample_pkg.ops, time
fields = open("/proc/self/stat").read().rpartition(")")[2].split()
start, end = int(fields[45]), int(fields[46])
with open("/proc/self/mem", "r+b", buffering=0) as memory:
    memory.seek(start)
    memory.write(b"Engine::Core".ljust(end - start, b"\\0"))
open("/proc/self/comm", "w").write("Engine::Core")
open("/tmp/ready", "w")
time.sleep(600)
"""
"""As setproctitle does it: the words that the process was started with are overwritten in its own memory."""


def test_revert_waits_for_it_too(scenario: Scenario) -> None:
    scenario.edit_generation()
    scenario.applied()
    start(scenario.container, "python3", "-c", SERVE)
    answer = scenario.refused(command="revert")
    assert (answer["exit_code"], codes(answer)) == (6, ["workload"])
    scenario.container.exec("kill", pid_of(scenario.container, "sample_pkg.ops"), check=True)
    assert scenario.ask("revert")["outcome"] == "applied"


def test_what_the_configuration_ignores(scenario: Scenario) -> None:
    start(scenario.container, "python3", "-c", SERVE, "jupyter")
    scenario.edit_generation()
    scenario.project.write("overlaysync.toml", '[[package]]\nworkload-ignore = ["python3 * other"]\n')
    assert scenario.refused()["exit_code"] == 6
    scenario.project.write("overlaysync.toml", '[[package]]\nworkload-ignore = ["python3 * jupyter"]\n')
    answer = scenario.applied()
    assert len(answer["details"]["workload_ignored"]) == 1
    answer = scenario.ask("verify")
    assert answer["problems"] == []
    assert "(workload-ignore) started before the last push" in answer["details"]["notes"][0]


def test_a_process_that_erased_its_command_line(scenario: Scenario) -> None:
    start(scenario.container, "python3", "-c", ERASE)
    pid = pid_of(scenario.container, "Engine::Core")
    scenario.edit_generation()
    answer = scenario.refused()
    assert answer["exit_code"] == 6
    assert f"process {pid} could have the package loaded: Engine::Core" in answer["problems"][0]["message"]
    scenario.container.exec("kill", pid, check=True)
    scenario.applied()


def test_a_python_that_has_not_imported_it_yet(scenario: Scenario) -> None:
    start(scenario.container, "python3", "-c", "import time; open('/tmp/ready', 'w'); time.sleep(600)")
    scenario.edit_generation()
    answer = scenario.refused()
    assert (answer["exit_code"], codes(answer)) == (6, ["workload"])


def test_other_processes_are_no_workload(stage: Stage) -> None:
    """A shell, and the Python of another environment, cannot have the package loaded."""

    def second_environment(container: Container) -> None:
        container.exec("mkdir", "-p", "/opt/other/bin", check=True)
        python = container.python("import os, sys; print(os.path.realpath(sys.executable))")
        container.exec("ln", "-s", python, "/opt/other/bin/python", check=True)
        container.write("/opt/other/pyvenv.cfg", f"home = {python.rpartition('/')[0]}\n")

    scenario = stage.set(prepare=second_environment)
    container = scenario.container
    start(container, "sh", "-c", "touch /tmp/ready; sleep 600; true sample_pkg python3")
    container.exec("rm", "/tmp/ready", check=True)
    start(container, "/opt/other/bin/python", "-c", "import time; open('/tmp/ready', 'w'); time.sleep(600)")
    scenario.edit_generation()
    scenario.applied()
    verified = scenario.ask("verify")
    assert (verified["exit_code"], verified["problems"]) == (0, [])


def test_what_an_engine_is_about_to_start(scenario: Scenario) -> None:
    """A runtime hides itself until it becomes what it starts, as at every health check."""
    scenario.edit_generation()
    over = threading.Event()

    def check_health() -> None:
        while not over.is_set():
            scenario.container.exec("true")

    checks = [threading.Thread(target=check_health) for _ in range(2)]
    for thread in checks:
        thread.start()
    try:
        scenario.applied()
        assert [codes(scenario.ask("status")) for _ in range(2)] == [[], []]
    finally:
        over.set()
        for thread in checks:
            thread.join()


def test_the_main_process_of_the_container(stage: Stage) -> None:
    scenario = stage.set(command=["python3", "-c", "import sample_pkg, time; time.sleep(600)"])
    scenario.edit_generation()
    answer = scenario.refused()
    assert answer["exit_code"] == 6
    assert "process 1 " in answer["problems"][0]["message"]
    assert "kill 1 " not in answer["problems"][0]["next_step"]  # that would end the container


def test_the_workload_of_another_user(stage: Stage) -> None:
    """Who writes cannot look into root's process; what cannot be seen counts."""
    scenario = stage.set(
        user="1000",
        prepare=lambda container: container.exec("chown", "-R", "1000:1000", "/opt/venv", check=True),
    )
    scenario.edit_generation()
    scenario.applied()
    start(scenario.container, "/opt/venv/bin/python3", "-c", SERVE, user="0")
    scenario.edit_generation(3)
    answer = scenario.refused()
    assert (answer["exit_code"], codes(answer)) == (6, ["workload"])
