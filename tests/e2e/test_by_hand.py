"""What people do in a target between two runs, and what the next run makes of it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.scenario import LocalScenario, Scenario, Work, codes

ENGINE, NEW = "sample_pkg/engine.py", "sample_pkg/extra.py"


def put_back(local: LocalScenario, before: bytes) -> None:
    """The original of an overlaid file and the absence of an added one, as a reinstallation leaves them."""
    site = local.environment.site_packages
    (site / ENGINE).write_bytes(before)
    (site / NEW).unlink()


def overlaid(local: LocalScenario) -> bytes:
    """A push of an edit and an addition; the edited file's original."""
    original = Path(local.environment.site_packages, ENGINE).read_bytes()
    local.edit_generation()
    local.project.write(NEW, "EXTRA = 1\n")
    assert len(local.applied()["operations"]) == 2
    return original


def test_what_was_put_back_by_hand_is_pushed_again(local: LocalScenario) -> None:
    put_back(local, overlaid(local))
    assert len(local.applied()["operations"]) == 2
    assert local.answer() == "generation 2: 1.0"


def test_what_was_put_back_by_hand_and_is_not_wanted_leaves_no_overlay(local: LocalScenario) -> None:
    put_back(local, overlaid(local))
    local.project.git("checkout", "--", ".")
    (local.project.path / NEW).unlink()
    assert [item["source"] for item in local.applied()["operations"]] == [ENGINE]
    assert local.ask("status")["details"]["overlay"] == []
    assert local.push()["outcome"] == "unchanged"


def test_what_was_put_back_by_hand_needs_no_revert_but_its_record_goes(local: LocalScenario) -> None:
    put_back(local, overlaid(local))
    answer = local.ask("revert")
    assert (answer["exit_code"], answer["problems"]) == (0, [])
    assert local.ask("revert")["outcome"] == "unchanged"


def test_bytecode_of_what_was_pushed_does_not_outlive_a_revert(local: LocalScenario) -> None:
    """Unchecked bytecode is believed for ever, also beside an original that was put back by hand."""
    before = overlaid(local)
    compiling = "import py_compile; py_compile.compile({!r}, invalidation_mode=mode)"
    mode = "mode = py_compile.PycInvalidationMode.UNCHECKED_HASH"
    source = str(local.environment.site_packages / ENGINE)
    local.environment.python(f"import py_compile; {mode}; {compiling.format(source)}")
    put_back(local, before)
    assert local.answer() == "generation 2: 1.0"
    assert local.ask("revert")["exit_code"] == 0
    assert local.answer() == "generation 1: 1.0"


def test_what_was_changed_over_the_overlay_is_left_alone(local: LocalScenario) -> None:
    overlaid(local)
    Path(local.environment.site_packages, ENGINE).write_text("GENERATION = 3\n")
    local.project.git("checkout", "--", ".")
    assert codes(local.refused()) == ["original-differs"]
    assert codes(local.refused(command="revert")) == ["original-differs"]


def through_the_next_step(work: Work, edit: str) -> None:
    """Every command names the same way on, which works as it is typed.

    Args:
        edit: a line that edits the file that stands for ``{}``.
    """
    before = work.files()
    work.edit_generation()
    work.project.write(NEW, "EXTRA = 1\n")
    work.applied()
    for then in ("push", "revert"):
        run(edit.format(ENGINE))
        run(edit.format(NEW))
        steps = {next_steps(work.ask(command)) for command in ("status", "push", "verify", "revert")}
        assert len(steps) == 1
        for command in steps.pop():
            run(command.rpartition(" again: ")[2])
        told = f"push again, or take the rest back too: {work.typed('revert')}"
        assert next_steps(work.ask("verify")) == (told, told)
        assert work.ask(then)["outcome"] == "applied"
        assert work.ask("verify")["exit_code"] == 0
    assert work.files() == before


def next_steps(answer: Any) -> tuple[str, ...]:
    assert codes(answer) == ["original-differs"]
    return tuple(sorted(problem["next_step"] for problem in answer["problems"]))


def run(line: str) -> None:
    subprocess.run(line, shell=True, check=True, capture_output=True)


def test_the_next_step_after_an_edit_in_an_environment_works(local: LocalScenario) -> None:
    site = local.environment.site_packages
    through_the_next_step(local, f"echo '# by hand' >> {site}/{{}}")


@pytest.mark.container
def test_the_next_step_after_an_edit_in_a_container_works(scenario: Scenario) -> None:
    line = f"docker exec {scenario.target} sh -c 'echo \"# by hand\" >> {scenario.site}/{{}}'"
    through_the_next_step(scenario, line)


def test_the_next_step_never_writes_in_place(local: LocalScenario, tmp_path: Path) -> None:
    """What stands there may be an installer's cache by another name."""
    overlaid(local)
    file, cache = Path(local.environment.site_packages, ENGINE), tmp_path / "cache.py"
    cache.write_text("CACHED = 1\n")
    file.unlink()
    file.hardlink_to(cache)
    [step] = next_steps(local.ask("verify"))
    run(step.rpartition(" again: ")[2])
    assert cache.read_text() == "CACHED = 1\n"
    local.applied()


def test_the_next_step_of_drift_works(local: LocalScenario) -> None:
    """An edit of what the worktree does not change is left alone, and told by verify all the same."""
    local.edit_generation()
    with Path(local.environment.site_packages, "sample_pkg", "config.py").open("a") as file:
        file.write("# by hand\n")
    for command in ("status", "push", "verify"):
        [step] = {problem["next_step"] for problem in local.ask(command)["problems"]}
        assert "push, status and watch take --acknowledge drift" in step
    assert local.ask("status", "--acknowledge", "drift")["problems"] == []
    answer = local.applied("--acknowledge", "drift,jit")
    assert answer["details"]["acknowledged"] == {"drift": ["sample_pkg/config.py"]}
    assert answer["details"]["notes"] == [
        "acknowledged (drift): sample_pkg/config.py",
        "--acknowledge jit: nothing of that class was met",
    ]
    assert codes(local.ask("verify")) == ["drift"]


def test_a_status_tells_such_a_file_once_and_not_again_by_what_is_read_back(local: LocalScenario) -> None:
    overlaid(local)
    Path(local.project.path, "sample_pkg", "beside.py").write_text("BESIDE = 1\n")
    local.applied()
    Path(local.environment.site_packages, ENGINE).write_text("GENERATION = 3\n")
    told = [problem["code"] for problem in local.ask("status")["problems"]]
    assert told == ["original-differs"]


def test_a_package_that_is_overlaid_whole_is_still_known_at_the_next_push(local: LocalScenario) -> None:
    """No installed file is HEAD's any more; the manifest says what each of them comes from."""
    project, tracked = local.project, sorted(local.project.committed_package())
    for name in tracked:
        path = project.path / name
        path.write_text(path.read_text().replace('{"', '{ "') + "\n")
    assert len(local.applied()["operations"]) == len(tracked)
    assert local.push()["outcome"] == "unchanged"
    local.edit_generation()
    assert [item["source"] for item in local.applied()["operations"]] == [ENGINE]
