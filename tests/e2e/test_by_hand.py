"""What people do in a target between two runs, and what the next run makes of it."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.scenario import LocalScenario, codes

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
