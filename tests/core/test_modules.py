"""What a resolution must say to count as proof."""

from __future__ import annotations

import pytest
from msgspec import structs

from overlaysync.core.modules import (
    choose,
    judge_absent,
    judge_installation,
    judge_place,
    judge_present,
    module_name,
)
from overlaysync.model.classified import ChangeClass
from overlaysync.model.plan import Placement
from overlaysync.model.target import Distribution, InstalledPath, Interpreter, Resolution
from overlaysync.model.worktree import RepoPath, Sha256

MODULE, PACKAGE = "/site/pkg/norm.py", "/site/pkg/norm/__init__.py"


@pytest.mark.parametrize(
    ("gone", "origin"),
    [(MODULE, None), (PACKAGE, None), (MODULE, PACKAGE), (PACKAGE, MODULE)],
    ids=["module", "package", "module becomes a package", "package becomes a module"],
)
def test_a_removed_module_may_live_on_in_its_other_form(gone: str, origin: str | None) -> None:
    ours = {MODULE, PACKAGE} - {gone}
    assert judge_absent(Resolution(module="pkg.norm", origin=origin), gone, ours, "pkg/norm.py") is None


@pytest.mark.parametrize(
    ("gone", "origin"),
    [
        (MODULE, MODULE),
        (MODULE, "/elsewhere/pkg/norm.py"),
        (MODULE, "/site/pkg/norm.so"),
        (PACKAGE, "/elsewhere/pkg/norm.py"),
        (MODULE, PACKAGE),
        (PACKAGE, MODULE),
    ],
)
def test_a_removed_module_is_found_nowhere_else(gone: str, origin: str) -> None:
    problem = judge_absent(Resolution(module="pkg.norm", origin=origin), gone, set(), "pkg/norm.py")
    assert problem is not None
    assert problem.code == "shadowed"
    assert origin in problem.message


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("pkg/norm.py", "pkg.norm"),
        ("pkg/__init__.py", "pkg"),
        ("pkg/sub/__init__.py", "pkg.sub"),
        ("six.py", "six"),
        ("pkg/größe.py", "pkg.größe"),
        ("pkg/data.json", None),
        ("pkg/stub.pyi", None),
        ("pkg/2fast.py", None),
        ("pkg/run-all.py", None),
        ("pkg.libs/x.py", None),
        ("__init__.py", None),
    ],
)
def test_the_name_by_which_a_path_is_imported(path: str, name: str | None) -> None:
    assert module_name(InstalledPath(path)) == name


PRESENT: dict[str, tuple[Resolution, list[str], list[str]]] = {
    # name: (the answer of the import system, what is wrong with the place, what is wrong with the code)
    "found, but an import hook loads it": (Resolution("pkg.norm", MODULE, loader="Hook"), [], ["shadowed"]),
    "found, and its code is the source's": (Resolution("pkg.norm", MODULE, runs_source=True), [], []),
    "elsewhere": (Resolution("pkg.norm", "/home/pkg/norm.py"), ["shadowed"], ["shadowed"]),
    "a compiled twin": (Resolution("pkg.norm", "/site/pkg/norm.so"), ["shadowed"], ["shadowed"]),
    "nowhere": (Resolution("pkg.norm"), ["not-importable"], ["not-importable"]),
    "a namespace only": (
        Resolution("pkg.norm", locations=("/home/pkg",)),
        ["not-importable"],
        ["not-importable"],
    ),
    "a finder fails": (Resolution("pkg.norm", error="OSError: no"), ["not-importable"], ["not-importable"]),
    "found, but it cannot be read": (
        Resolution("pkg.norm", MODULE, error="SyntaxError: no"),
        [],
        ["not-importable"],
    ),
    "old bytecode": (Resolution("pkg.norm", MODULE, runs_source=False), [], ["shadowed"]),
}


@pytest.mark.parametrize(("resolution", "place", "code"), PRESENT.values(), ids=PRESENT)
def test_a_module_resolves_to_its_destination_and_runs_its_source(
    resolution: Resolution, place: list[str], code: list[str]
) -> None:
    for judge, expected in ((judge_place, place), (judge_present, code)):
        problem = judge(resolution, MODULE, "pkg/norm.py")
        assert [problem.code for problem in (problem,) if problem is not None] == expected


COPY = Distribution(root="/site", metadata="pkg-1.0.dist-info", version="1.0", form="dist-info")
OURS = Interpreter(
    path="/usr/bin/python3",
    real="/usr/bin/python3.11",
    prefix="/usr",
    distributions=(COPY,),
    packages=(
        Resolution("pkg", "/site/pkg/__init__.py"),
        Resolution("space", locations=("/other/space", "/site/space")),
    ),
)


def installation(interpreter: Interpreter) -> list[str]:
    problems = judge_installation(interpreter, interpreter.distributions[0], "pkg", {})
    return [problem.code for problem in problems]


def test_one_copy_whose_packages_are_imported_from_it() -> None:
    assert installation(OURS) == []


@pytest.mark.parametrize(
    ("copies", "codes"),
    [
        ((COPY, structs.replace(COPY, metadata="pkg-2.0.dist-info")), ["duplicate-distribution"]),
        ((COPY, structs.replace(COPY, root="/usr/lib/python3/dist-packages")), ["duplicate-distribution"]),
        ((structs.replace(COPY, editable=True),), ["editable-install"]),
        ((structs.replace(COPY, form="egg-link", metadata="pkg.egg-link"),), ["editable-install"]),
        ((structs.replace(COPY, form="egg-info", metadata="pkg.egg-info"),), ["editable-install"]),
    ],
    ids=["two versions", "two places", "editable", "develop", "egg"],
)
def test_other_forms_of_installation_are_named(copies: tuple[Distribution, ...], codes: list[str]) -> None:
    assert installation(structs.replace(OURS, distributions=copies)) == codes


@pytest.mark.parametrize(
    ("package", "code"),
    [
        (Resolution("pkg", "/work/pkg/__init__.py"), "shadowed"),
        (Resolution("pkg", locations=("/work/pkg",)), "shadowed"),
        (Resolution("pkg", "/site-old/pkg/__init__.py"), "shadowed"),
        (Resolution("pkg"), "not-importable"),
        (Resolution("pkg", error="ValueError: no"), "not-importable"),
    ],
)
def test_a_package_that_is_imported_from_elsewhere_hides_the_copy(package: Resolution, code: str) -> None:
    assert installation(structs.replace(OURS, packages=(package,))) == [code]


def test_a_name_that_the_overlay_removed_is_not_looked_for() -> None:
    lost = structs.replace(OURS, packages=(*OURS.packages, Resolution("solo")))
    removed = Placement(
        source=RepoPath("src/solo.py"),
        destination=InstalledPath("solo.py"),
        change_class=ChangeClass.PYTHON,
        original_sha256=Sha256("a" * 64),
        installed_sha256=None,
    )
    assert installation(lost) == ["not-importable"]
    overlay = {removed.destination: removed}
    assert judge_installation(lost, COPY, "pkg", overlay) == []
    replaced = {removed.destination: structs.replace(removed, installed_sha256=Sha256("b" * 64))}
    assert [item.code for item in judge_installation(lost, COPY, "pkg", replaced)] == ["not-importable"]


def test_interpreters_that_are_the_same_one_count_once() -> None:
    other_name = structs.replace(OURS, path="/usr/bin/python3.11")
    other = structs.replace(OURS, prefix="/opt/venv", path="/opt/venv/bin/python")
    without = structs.replace(OURS, distributions=(), real="/usr/bin/python3.13")
    assert choose([OURS, other_name, without, other]) == [OURS, other]
