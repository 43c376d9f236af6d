"""What stands in the way in the target: files that are there already, or missing, links, twins."""

from __future__ import annotations

import pytest

from tests.e2e.scenario import LocalScenario, Scenario, codes

CONTAINER = pytest.mark.container


@CONTAINER
def test_the_new_file_is_there_already(scenario: Scenario) -> None:
    place = f"{scenario.site}/sample_pkg/models/new.py"
    scenario.container.write(place, "OTHER = True\n")
    scenario.project.write("sample_pkg/models/new.py", "NEW = True\n")
    answer = scenario.refused()
    assert (answer["exit_code"], codes(answer)) == (5, ["destination-exists"])
    assert scenario.container.exec("cat", place).stdout == "OTHER = True\n"
    scenario.container.exec("rm", place, check=True)
    scenario.applied()


@CONTAINER
def test_a_file_of_the_package_is_missing(scenario: Scenario) -> None:
    scenario.edit_generation()
    scenario.container.exec("rm", f"{scenario.site}/sample_pkg/engine.py", check=True)
    answer = scenario.refused()
    assert answer["exit_code"] == 5
    assert set(codes(answer)) <= {"destination-missing", "original-differs", "shadowed", "not-importable"}


@pytest.mark.parametrize("kind", ["dist-info", "link", "twin"])
def test_the_same_without_an_engine(local: LocalScenario, kind: str) -> None:
    site = local.environment.site_packages
    local.edit_generation()
    if kind == "dist-info":
        (site / "sample_pkg-0.9.dist-info").mkdir()
        obstacle, expected = site / "sample_pkg-0.9.dist-info", (5, "duplicate-distribution")
    elif kind == "link":
        (site / "sample_pkg").rename(site.parent / "moved")
        (site / "sample_pkg").symlink_to(site.parent / "moved")
        obstacle, expected = site / "sample_pkg", (5, "link")
    else:
        obstacle, expected = site / "sample_pkg" / "engine.abi3.so", (3, "compiled-twin")
        obstacle.touch()
    answer = local.refused()
    assert (answer["exit_code"], expected[1] in codes(answer)) == (expected[0], True), answer
    if kind == "dist-info":
        obstacle.rmdir()
    else:
        obstacle.unlink()
    if kind == "link":
        (site.parent / "moved").rename(site / "sample_pkg")
    local.applied()
