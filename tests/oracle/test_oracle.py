"""A short selection of real releases on every run; all of them by ``python -m tests.oracle.judge --all``."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest

from tests.oracle.building import Workshop
from tests.oracle.contents import read_wheel
from tests.oracle.judge import default_directory, judge_releases
from tests.oracle.judging import Outcome
from tests.oracle.models import MODELS
from tests.oracle.projects import SUBJECTS
from tests.oracle.trees import Entry

pytestmark = [pytest.mark.network, pytest.mark.slow]

SELECTION = [
    ("humanize", "4.8.0", "4.9.0", Outcome.EQUAL),
    ("packaging", "24.2", "25.0", Outcome.EQUAL),
    ("markupsafe", "2.1.3", "2.1.4", Outcome.EQUAL),
    ("python-slugify", "6.1.1", "6.1.2", Outcome.REFUSED),
]
"""Of three backends, flat and src; new data, new subpackages, a compiled part, an entry point."""


@pytest.fixture(scope="session")
def workshop() -> Workshop:
    """Where builds are kept from one run to the next."""
    return Workshop(default_directory())


@pytest.mark.parametrize(("name", "before", "after", "outcome"), SELECTION)
def test_a_release_pushed_is_the_release_rebuilt(
    workshop: Workshop, name: str, before: str, after: str, outcome: Outcome
) -> None:
    subject = next(subject for subject in SUBJECTS if subject.project.name == name)
    (verdict,) = judge_releases(workshop, subject.project, [before, after])
    if verdict.outcome is Outcome.SKIPPED and os.environ.get("CI") != "true":
        pytest.skip(verdict.reason)
    assert (verdict.outcome, verdict.wrong, verdict.unneeded) == (outcome, (), ()), verdict
    assert verdict.rest_equal


CHANGES: Mapping[str, Mapping[str, bytes | None]] = {
    "nothing": {},
    "data": {"pkg/new.txt": b"", "pkg/assets/a.json": b"{}", "pkg/layers/a.json": b"{}"},
    "directories": {"pkg/plain/part.py": b"", "pkg/layers/__init__.py": None, "pkg/new/__init__.py": b""},
}


@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_ships_what_its_backend_ships(workshop: Workshop, name: str, changes: str) -> None:
    model = MODELS[name]
    files = {**model.sources, **CHANGES[changes]}
    kept = {path: content for path, content in files.items() if content is not None}
    wheel = workshop.wheel({path: Entry(content) for path, content in kept.items()}, f"model-{name}")
    assert read_wheel(wheel).files == model.ships(kept)
