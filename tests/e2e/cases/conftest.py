"""What a test of the failure cases takes down (see ``seen``)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.cases.catalogue import FAILURES
from tests.e2e.cases.seen import CONTROL, PROPERTY, TRAP, Case


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    """Takes down what the test sees of the cases that it is marked with: a trap, and a control beside it."""
    identifiers = [name for mark in request.node.iter_markers("case") for name in mark.args]
    assert identifiers, "mark the test with the cases that it reproduces"
    assert set(identifiers) <= FAILURES.keys()
    case = Case(identifiers, [])
    yield case
    roles = {role for _, role, _ in case.sightings}
    assert roles in (set(), {TRAP, CONTROL}), "a trap without its control proves nothing"
    request.node.user_properties.append((PROPERTY, case.sightings))  # travels from xdist's workers
