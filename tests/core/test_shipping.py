"""Whether new modules would ship, and what the configuration settles (data: ``test_new_files``)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from overlaysync.core.mapping import prove
from overlaysync.core.shipping import Shipping, ShippingRule, Ships
from overlaysync.model.worktree import RepoPath
from tests.core.installation import tree, wheel

YES, NO, UNPROVEN = Ships.YES, Ships.NO, Ships.UNPROVEN

CASES: dict[str, tuple[Sequence[str], Sequence[str], Sequence[str], str, Ships, str | None]] = {
    # name: (tracked and shipped below src/, tracked only, added, the path asked for, the answer, its place)
    "beside modules that ship": (
        ["pkg/__init__.py", "pkg/a.py"],
        [],
        ["src/pkg/new.py"],
        "src/pkg/new.py",
        YES,
        "pkg/new.py",
    ),
    "beside modules that do not": (
        ["pkg/__init__.py"],
        ["src/pkg/training/__init__.py", "src/pkg/training/loop.py"],
        ["src/pkg/training/new.py"],
        "src/pkg/training/new.py",
        NO,
        None,
    ),
    "beside modules of which some ship": (
        ["pkg/__init__.py", "pkg/a.py"],
        ["src/pkg/conftest.py"],
        ["src/pkg/new.py"],
        "src/pkg/new.py",
        UNPROVEN,
        None,
    ),
    "a new package in a package": (
        ["pkg/__init__.py"],
        [],
        ["src/pkg/sub/__init__.py", "src/pkg/sub/deep/__init__.py", "src/pkg/sub/deep/new.py"],
        "src/pkg/sub/deep/new.py",
        YES,
        "pkg/sub/deep/new.py",
    ),
    "a new package below a directory that is none": (
        ["pkg/__init__.py"],
        [],
        ["src/pkg/sub/deep/__init__.py"],
        "src/pkg/sub/deep/__init__.py",
        UNPROVEN,
        None,
    ),
    "a new package in one that does not ship": (
        ["pkg/__init__.py"],
        ["tests/__init__.py", "tests/test_a.py"],
        ["tests/new/__init__.py"],
        "tests/new/__init__.py",
        NO,
        None,
    ),
    "without an __init__.py where all such ship": (
        ["pkg/__init__.py", "pkg/scripts/run.py"],
        [],
        ["src/pkg/tools/new.py"],
        "src/pkg/tools/new.py",
        YES,
        "pkg/tools/new.py",
    ),
    "without an __init__.py where none does": (
        ["pkg/__init__.py"],
        ["src/pkg/scripts/run.py"],
        ["src/pkg/tools/new.py"],
        "src/pkg/tools/new.py",
        NO,
        None,
    ),
    "without an __init__.py where nothing tells": (
        ["pkg/__init__.py"],
        [],
        ["src/pkg/tools/new.py"],
        "src/pkg/tools/new.py",
        UNPROVEN,
        None,
    ),
    "far from anything that ships": (
        ["pkg/__init__.py"],
        ["README.md"],
        ["examples/new.py"],
        "examples/new.py",
        NO,
        None,
    ),
    "a script of the root": (["pkg/__init__.py"], ["setup.py"], ["new.py"], "new.py", NO, None),
}


def judged(
    shipped: Sequence[str],
    others: Sequence[str],
    added: Sequence[str],
    asked: str,
    *,
    ships: Sequence[str] = (),
    not_shipped: Sequence[str] = (),
) -> Shipping:
    head = tree({f"src/{path}": path for path in shipped} | {path: path for path in others})
    proven = prove(head, wheel({path: path for path in shipped}))
    present = head.keys() | set(added)
    return ShippingRule(head, proven, present, ships=ships, not_shipped=not_shipped).judge(RepoPath(asked))


@pytest.mark.parametrize(
    ("shipped", "others", "added", "asked", "answer", "place"), CASES.values(), ids=CASES
)
def test_a_new_module_ships_as_its_neighbours_do(
    shipped: Sequence[str],
    others: Sequence[str],
    added: Sequence[str],
    asked: str,
    answer: Ships,
    place: str | None,
) -> None:
    shipping = judged(shipped, others, added, asked)
    assert (shipping.ships, shipping.destination) == (answer, place)
    assert shipping.reason


SOME = (["pkg/__init__.py", "pkg/a.py"], ["src/pkg/conftest.py"], ["src/pkg/new.py"], "src/pkg/new.py")


def test_the_configuration_settles_what_is_unproven() -> None:
    shipping = judged(*SOME, ships=["/src/pkg/n*.py"])
    assert (shipping.ships, shipping.destination) == (YES, "pkg/new.py")
    assert judged(*SOME, not_shipped=["src/pkg/new.py"]).ships is NO
    assert judged(*SOME, ships=["src/pkg/new.py"], not_shipped=["new.py"]).ships is NO


def test_the_configuration_cannot_give_a_place_to_what_has_none() -> None:
    shipping = judged(["pkg/__init__.py"], ["README.md"], ["tools/new.py"], "tools/new.py", ships=["/tools/"])
    assert (shipping.ships, shipping.destination) == (UNPROVEN, None)


def test_beside_rivals_the_place_is_not_proven() -> None:
    package = {"pkg/__init__.py": "package", "pkg/a.py": "a"}
    head = tree({f"{root}/{path}": text for root in ("one", "two") for path, text in package.items()})
    rule = ShippingRule(head, prove(head, wheel(package)), head)
    for new in ("one/pkg/new.py", "two/pkg/new.py"):
        assert rule.judge(RepoPath(new)).ships is UNPROVEN
