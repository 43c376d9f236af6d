"""Whether what is known of an image holds for what is installed in the container."""

from __future__ import annotations

import pytest

from overlaysync.core import provenance
from overlaysync.model.evidence import Evidence
from overlaysync.model.target import Companion, Inventory, TargetIdentity
from overlaysync.model.worktree import ObjectId

MADE = 1_700_000_000.0
COMMIT = ObjectId("a" * 40)


def container(created_at: str = "2023-11-14T22:13:20Z") -> TargetIdentity:
    return TargetIdentity(kind="docker", name="dev", created_at=created_at)


def installed(name: str, changed: float, written: float | None = None) -> Companion:
    """Times in seconds after the container was made."""
    written = changed if written is None else written
    return Companion(name, changed_at=MADE + changed, written_at=MADE + written)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2023-11-14T22:13:20Z", MADE),
        ("2023-11-14T22:13:20.250000001Z", MADE + 0.250000001),
        ("2023-11-15T00:13:20.5+02:00", MADE + 0.5),
        ("2023-11-14 22:13:20.5 +0000 UTC", MADE + 0.5),
        ("unknown", None),
        ("", None),
    ],
)
def test_moments_as_engines_write_them(text: str, seconds: float | None) -> None:
    assert provenance.made_at(container(text)) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("itself", "other", "later"),
    [
        ((-100,), (-200,), False),  # both are the image's
        ((-100,), (-50,), False),  # and in a later layer
        ((-100,), (5,), True),  # installed in the container
        ((-100,), (5, -300), True),  # with times that were kept
        ((10, -100), (12, -300), False),  # all files changed hands
        ((10, -100), (30, 30), True),  # and one was installed afterwards
        ((20,), (10,), False),  # the distribution was installed in the container, after what it requires
        ((20,), (30,), True),
    ],
)
def test_what_came_later_than_the_image(
    itself: tuple[float, ...], other: tuple[float, ...], later: bool
) -> None:
    distribution, requirement = installed("sample", *itself), installed("libbase", *other)
    assert provenance.later_than_image(requirement, distribution, container()) is later
    assert provenance.later_than_image(requirement, distribution, container("unknown")) is False


def evidence(kind: str) -> Evidence:
    return Evidence(kind=kind, name="revision", value=COMMIT, commit=COMMIT)


@pytest.mark.parametrize("kinds", [("label",), ("env",), ("label", "env")])
def test_evidence_of_the_image_speaks_for_the_image_alone(kinds: tuple[str, ...]) -> None:
    named = [evidence(kind) for kind in kinds]
    later, plain = installed("sample", 10), installed("sample", -10)
    inventory = Inventory("/site", "sample-1.0.dist-info", None, ())
    mounted = Inventory("/venv/site", "sample-1.0.dist-info", None, (), mounted_on="/venv")

    def told(item: Companion, where: Inventory, *more: str) -> list[str]:
        given = [*named, *map(evidence, more)]
        return [problem.code for problem in provenance.judge(given, item, where, container())]

    assert told(later, inventory) == ["no-image-commit"]
    assert told(plain, mounted) == ["mount"]
    assert told(plain, inventory) == []
    for other in ("given", "file", "pep610"):
        assert told(later, mounted, other) == []
