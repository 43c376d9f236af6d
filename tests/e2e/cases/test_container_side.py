"""Containers in which copying works and nothing can be proven, or the other way round."""

from __future__ import annotations

import pytest

from tests.e2e.cases.seen import Case
from tests.e2e.scenario import Scenario, codes

pytestmark = pytest.mark.container


@pytest.mark.case("D05")
def test_a_paused_container(scenario: Scenario, case: Case) -> None:
    scenario.edit_generation()
    scenario.container.pause()
    answer = case.trap(scenario.push())
    scenario.container.unpause()
    assert (answer["exit_code"], codes(answer)) == (7, ["target-paused"])
    assert scenario.answer() == "generation 1: 1.0"
    case.control(scenario.applied(), "unpaused, the new code runs")
    assert scenario.answer() == "generation 2: 1.0"
