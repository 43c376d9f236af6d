"""Who may write, who has to read, and files that allow neither."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.e2e.cases.seen import Case
from tests.e2e.scenario import LocalScenario, Stage, codes, own

CONTAINER = pytest.mark.container
NEW_CODE = "generation 2: 1.0"


@CONTAINER
@pytest.mark.case("D02")
def test_owner_and_mode_of_the_host_do_not_travel(stage: Stage, case: Case) -> None:
    """Under a umask of 077 and another owner, which ``docker cp`` would bring along."""
    scenario = stage.set(user="dev")
    before = scenario.files()
    scenario.edit_generation()
    new = scenario.project.write("sample_pkg/layers/drop.py", "RATE = 0.5\n")
    for path in (scenario.project.path / "sample_pkg/engine.py", new):
        path.chmod(0o600)
        if os.geteuid() == 0:
            os.chown(path, 4321, 4321)
    case.trap(scenario.applied("--user", "root"), "owner and mode of the original; read back as the workload")
    after = scenario.files()
    assert after["sample_pkg/engine.py"][:3] == before["sample_pkg/engine.py"][:3]
    assert after["sample_pkg/layers/drop.py"][:3] == before["sample_pkg/layers/norm.py"][:3]
    assert scenario.answer() == NEW_CODE
    scenario.ask("revert", "--user", "root")
    assert scenario.files() == before
    for path in (scenario.project.path / "sample_pkg/engine.py", new):
        path.chmod(0o644)
        os.chown(path, os.geteuid(), os.getegid())
    case.control(scenario.applied("--user", "root"), "the usual owner and mode")


@CONTAINER
@pytest.mark.case("D15")
def test_root_owns_the_site_packages_and_the_container_is_not_root(stage: Stage, case: Case) -> None:
    scenario = stage.set(user="dev")
    before = scenario.files()
    scenario.edit_generation()
    answer = case.trap(scenario.refused())
    assert (answer["exit_code"], codes(answer)) == (5, ["not-writable"])
    [problem] = answer["problems"]
    assert "uid 1000" in problem["message"]
    assert "owner uid 0" in problem["message"]
    assert "--user root" in problem["next_step"]

    case.control(scenario.applied("--user", "root"), "root is named as the writer")
    assert scenario.answer() == NEW_CODE
    after = scenario.files()["sample_pkg/engine.py"]
    assert after[:3] == before["sample_pkg/engine.py"][:3]
    record = scenario.cli("-C", scenario.project.path, "manifest", "show", "--json").json()
    assert record["details"]["manifest"]["interpreter"]["uid"] == 1000  # proven as the workload, not as root
    refusal = scenario.refused(command="revert")
    assert (refusal["exit_code"], codes(refusal)) == (5, ["not-writable"])
    scenario.ask("revert", "--user", "root")
    assert scenario.files() == before


@CONTAINER
@pytest.mark.case("D15")
def test_a_user_who_owns_the_files_and_not_the_directories(stage: Stage, case: Case) -> None:
    """The file could be written in place, which is never done."""
    scenario = stage.set(user="dev", prepare=own("/opt/venv"))
    layers = f"{scenario.site}/sample_pkg/layers"
    scenario.container.exec("chown", "0:0", layers, user="0", check=True)
    scenario.container.exec("sh", "-c", f": >> {layers}/norm.py", check=True)
    scenario.project.edit("layers/norm.py", "/ 8", "/ 4")
    answer = case.trap(scenario.refused(), "the file is the user's, its directory is not")
    assert (answer["exit_code"], codes(answer)) == (5, ["not-writable"])
    scenario.container.exec("chown", "1000:1000", layers, user="0", check=True)
    case.control(scenario.applied(), "both are the user's")


@CONTAINER
@pytest.mark.case("D02", "D17")
def test_a_file_that_the_workload_may_not_read_is_no_success(stage: Stage, case: Case) -> None:
    """Root would write what the workload, a uid without an account, cannot import."""
    scenario = stage.set(user="4242")
    scenario.project.write("sample_pkg/layers/drop.py", "RATE = 0.5\n")
    layers = f"{scenario.site}/sample_pkg/layers"
    scenario.container.exec("chmod", "0700", layers, user="0", check=True)
    before = scenario.files()
    answer = case.trap(scenario.push("--user", "root"), "the kernel's reason is passed on")
    assert answer["outcome"] in ("refused", "failed")
    assert answer["exit_code"] in (5, 8)
    assert "Permission denied" in str(answer["problems"])
    assert scenario.files() == before
    scenario.container.exec("chmod", "0755", layers, user="0", check=True)
    case.control(scenario.applied("--user", "root"), "readable for the workload")


@pytest.mark.skipif(os.geteuid() != 0, reason="the immutable flag is set by root only")
@pytest.mark.case("D18")
def test_one_file_cannot_be_changed(local: LocalScenario, case: Case) -> None:
    """EPERM, although mode and owner allow it: none of the three files is written."""
    place = local.environment.site_packages / "sample_pkg/layers/norm.py"
    local.edit_generation()
    local.project.edit("layers/norm.py", "/ 8", "/ 4")
    local.project.write("sample_pkg/layers/drop.py", "RATE = 0.5\n")
    if subprocess.run(["chattr", "+i", place], check=False, capture_output=True).returncode != 0:
        pytest.skip("this file system has no immutable flag")
    try:
        with pytest.raises(PermissionError):
            place.write_text("")
        answer = case.trap(local.refused(), "the file is named, the other two are as they were")
        assert (answer["exit_code"], codes(answer)) == (5, ["not-writable"])
        [problem] = answer["problems"]
        assert "sample_pkg/layers/norm.py" in problem["message"]
        assert "immutable" in problem["message"]
    finally:
        subprocess.run(["chattr", "-i", place], check=True)
    case.control(local.applied(), "without the flag, all three")
    assert local.answer() == "generation 2: 2.0"
