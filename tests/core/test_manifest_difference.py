"""What differs between two manifests."""

from __future__ import annotations

from msgspec import structs

from overlaysync.core.manifest_difference import FactDifference, PlacementDifference, compare
from overlaysync.model.plan import Placement
from overlaysync.model.target import InstalledPath
from overlaysync.model.worktree import ObjectId, Sha256
from tests.state.samples import MANIFEST, PLACEMENT


def placement(destination: str, content: str = "b") -> Placement:
    return structs.replace(
        PLACEMENT, destination=InstalledPath(destination), installed_sha256=Sha256(content * 64)
    )


def test_runs_that_leave_the_same_behind_do_not_differ() -> None:
    again = structs.replace(MANIFEST, id="20270101T000000.000Z-000000", time="later", tool="9", operations=())
    difference = compare(MANIFEST, again)
    assert difference.same
    assert (difference.before, difference.after) == (MANIFEST.id, again.id)


def test_facts_are_told_in_order() -> None:
    head = ObjectId("9" * 40)
    after = structs.replace(
        MANIFEST,
        baseline=structs.replace(MANIFEST.baseline, head=head, image_commit=None),
        target=structs.replace(MANIFEST.target, kind="podman"),
        interpreter=structs.replace(MANIFEST.interpreter, path="/usr/bin/python3"),
    )
    difference = compare(MANIFEST, after)
    assert not difference.same
    assert difference.facts == (
        FactDifference("HEAD", "1" * 40, "9" * 40),
        FactDifference("image commit", "1" * 40, None),
        FactDifference("target", "docker:my-dev", "podman:my-dev"),
        FactDifference("interpreter", "/opt/venv/bin/python", "/usr/bin/python3"),
    )


def test_placements_by_destination() -> None:
    before = structs.replace(MANIFEST, overlay=(placement("c.py"), placement("a.py"), placement("b.py")))
    after = structs.replace(MANIFEST, overlay=(placement("d.py"), placement("b.py", "c"), placement("c.py")))
    difference = compare(before, after)
    assert difference.added == (placement("d.py"),)
    assert difference.removed == (placement("a.py"),)
    assert difference.changed == (PlacementDifference(placement("b.py"), placement("b.py", "c")),)
    assert not difference.same and not difference.facts
