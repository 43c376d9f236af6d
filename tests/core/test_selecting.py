"""Which changes are copied, which do not matter, and which stand in the way."""

from __future__ import annotations

import pytest

from overlaysync.core.classify import DEFAULT_NOT_BUILT, classify, classify_set
from overlaysync.core.mapping import prove
from overlaysync.core.selecting import Selection, Selector, judge_plausible
from overlaysync.core.shipping import ShippingRule
from overlaysync.model.classified import ClassifiedChange
from overlaysync.model.problem import Problem
from overlaysync.model.target import InstalledFile
from overlaysync.model.worktree import Change, ChangeKind, RepoPath
from tests.core.changes import judged
from tests.core.installation import Files, desired, tree, wheel

SHIPPED = {
    "pkg/__init__.py": "package",
    "pkg/a.py": "a",
    "pkg/b.py": "b",
    "pkg/data/x.json": "{}",
    "pkg/templates/Dockerfile": "FROM scratch",
}
HEAD: Files = {f"src/{path}": text for path, text in SHIPPED.items()} | {
    "csrc/ops.cu": "kernel",
    "docs/guide.md": "guide",
    "scripts/run": "run",
    "setup.cfg": "[metadata]",
    "src/pkg/NOTES.md": "notes",
    "tests/test_a.py": "test",
}


def selected(
    *changes: ClassifiedChange,
    head: Files = HEAD,
    files: list[InstalledFile] | None = None,
    outside: tuple[str, ...] = (),
    unreadable: tuple[Problem, ...] = (),
) -> Selection:
    commit = tree(head)
    shipped = prove(commit, wheel(SHIPPED) if files is None else files)
    present: set[str] = set(commit)
    for item in changes:
        (present.add if item.change.content is not None else present.discard)(item.change.path)
    rule = ShippingRule(commit, shipped, present)
    selector = Selector(commit, shipped, rule, outside, DEFAULT_NOT_BUILT)
    return selector.select(classify_set(changes, commit.keys()), unreadable)


def summary(selection: Selection) -> list[str]:
    """One line for each path, in the words of the selection's fields."""
    return sorted(
        [f"{item.source} -> {item.destination} ({item.change_class.value})" for item in selection.desired]
        + [f"{problem.path}: {problem.code}" for problem in selection.problems]
        + [f"{path}: not packaged" for path in selection.not_packaged]
        + [f"{problem.path}: left out" for problem in selection.left_out]
    )


CASES: dict[str, tuple[ClassifiedChange, list[str]]] = {
    "a module": (judged("src/pkg/a.py", "A = 1", "A = 2"), ["src/pkg/a.py -> pkg/a.py (python)"]),
    "a removed module": (judged("src/pkg/a.py", "A = 1", None), ["src/pkg/a.py -> pkg/a.py (python)"]),
    "a new module": (judged("src/pkg/new.py", None, "A = 1"), ["src/pkg/new.py -> pkg/new.py (python)"]),
    "data": (judged("src/pkg/data/x.json"), ["src/pkg/data/x.json -> pkg/data/x.json (data)"]),
    "data of an unknown kind": (judged("src/pkg/new.yaml", None, "a: 1"), ["src/pkg/new.yaml: left out"]),
    "data that does not ship": (judged("src/pkg/NOTES.md"), ["src/pkg/NOTES.md: not packaged"]),
    "what no build reads by its name, where it ships": (
        judged("src/pkg/templates/Dockerfile"),
        ["src/pkg/templates/Dockerfile -> pkg/templates/Dockerfile (data)"],
    ),
    "what no build reads by its name": (judged("Dockerfile"), ["Dockerfile: not packaged"]),
    "a test": (judged("tests/test_a.py", "A = 1", "A = 2"), ["tests/test_a.py: not packaged"]),
    "documentation": (judged("docs/guide.md"), ["docs/guide.md: not packaged"]),
    "native source": (judged("csrc/ops.cu"), ["csrc/ops.cu: native-change"]),
    "a build file": (
        judged("setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = b\n"),
        ["setup.cfg: build-change"],
    ),
    "comments of a build file": (
        judged("setup.cfg", "[metadata]\nname = a\n", "# more\n[metadata]\nname = a\n"),
        ["setup.cfg: not packaged"],
    ),
    "a binding that ships": (
        judged("src/pkg/a.py", "", "import ctypes\nctypes.CDLL('x').run()\n"),
        ["src/pkg/a.py -> pkg/a.py (binding)", "src/pkg/a.py: binding-change"],
    ),
    "a binding that does not ship": (
        judged("tests/test_a.py", "", "import ctypes\nctypes.CDLL('x').run()\n"),
        ["tests/test_a.py: not packaged"],
    ),
}


@pytest.mark.parametrize(("change", "expected"), CASES.values(), ids=CASES)
def test_a_change_is_copied_refused_or_does_not_matter(change: ClassifiedChange, expected: list[str]) -> None:
    assert summary(selected(change)) == expected


def test_every_change_is_told() -> None:
    changes = [
        change for name, (change, _) in CASES.items() if "module" not in name and "binding" not in name
    ]
    assert len(summary(selected(*changes))) == len(changes)


def test_a_module_that_nothing_proves_to_ship_is_refused_with_the_line_that_settles_it() -> None:
    change = judged("src/pkg/plain/new.py", None, "A = 1")
    (problem,) = selected(change).problems
    assert problem.code == "unproven-shipping"
    assert 'ships = ["/src/pkg/plain/new.py"]' in problem.next_step


def test_a_script_that_is_installed_outside_of_the_package_needs_a_rebuild() -> None:
    change = judged("scripts/run")
    assert summary(selected(change, outside=("../../../bin/run",))) == ["scripts/run: outside-package"]
    assert summary(selected(change, outside=("../../../bin/other",))) == ["scripts/run: not packaged"]


def test_one_file_at_two_places_is_ambiguous() -> None:
    head = {"lib/a.py": "a", "lib/b.py": "b"}
    twice = wheel({"one/a.py": "a", "one/b.py": "b", "two/a.py": "a", "two/b.py": "b"})
    selection = selected(judged("lib/a.py", "A = 1", "A = 2"), head=head, files=twice)
    assert summary(selection) == ["lib/a.py: ambiguous-mapping"]


def test_two_files_for_one_place_are_ambiguous() -> None:
    head = {f"{root}/{path}": text for root in ("one", "two") for path, text in SHIPPED.items()}
    selection = selected(judged("two/pkg/a.py", "A = 1", "A = 2"), head=head)
    assert summary(selection) == ["two/pkg/a.py: ambiguous-mapping"]
    assert "one/pkg/a.py" in selection.problems[0].message


def test_two_new_files_for_one_place_are_ambiguous() -> None:
    head = {"one/pkg/a.py": "a", "two/pkg/b.py": "b"}
    changes = [judged(f"{root}/pkg/new.py", None, "A = 1") for root in ("one", "two")]
    selection = selected(*changes, head=head, files=wheel({"pkg/a.py": "a", "pkg/b.py": "b"}))
    assert [problem.code for problem in selection.problems] == ["ambiguous-mapping"]
    assert summary(selected(changes[0], head=head, files=wheel({"pkg/a.py": "a", "pkg/b.py": "b"}))) == [
        "one/pkg/new.py -> pkg/new.py (python)"
    ]


@pytest.mark.parametrize(
    ("path", "expected"), [("src/pkg/link.py", "link-change"), ("tools/link", "not packaged")]
)
def test_a_link_matters_only_in_a_package(path: str, expected: str) -> None:
    link = Change(RepoPath(path), ChangeKind.ADDED, note="link to elsewhere")
    assert summary(selected(classify(link, None, None))) == [f"{path}: {expected}"]


def test_what_cannot_be_read_matters_where_a_build_reads() -> None:
    def trouble(path: str) -> Problem:
        return Problem("unreadable-file", "cannot be opened", "look at its mode", path)

    selection = selected(
        unreadable=(trouble("src/pkg/a.py"), trouble("tests/test_a.py"), trouble("csrc/ops.cu"))
    )
    assert [problem.path for problem in selection.problems] == ["src/pkg/a.py", "csrc/ops.cu"]


def removals(count: int, of: int) -> list[str]:
    changes = [desired(f"pkg/{number}.py", f"pkg/{number}.py", "head", None) for number in range(count)]
    return [problem.code for problem in judge_plausible(changes, of)]


@pytest.mark.parametrize(
    ("removed", "shipped", "codes"),
    [(0, 0, []), (0, 40, []), (5, 40, []), (1, 1, ["many-removals"]), (40, 40, ["many-removals"])],
)
def test_an_emptied_checkout_is_asked_about(removed: int, shipped: int, codes: list[str]) -> None:
    assert removals(removed, shipped) == codes


def test_a_package_whose_files_all_move_is_not_emptied() -> None:
    moved = [desired("a.py", "a.py", "a", None), desired("a/__init__.py", "a/__init__.py", None, "a")]
    assert judge_plausible(moved, 1) == []


def test_sources_keep_what_a_plan_needs() -> None:
    (item,) = selected(judged("src/pkg/a.py", "A = 1", "A = 2")).desired
    assert (item.source, item.cause) == (RepoPath("src/pkg/a.py"), "modified")
    assert item.head and item.sha256 and item.blob and item.size


@pytest.mark.parametrize(("before", "after"), [("a", "b"), (None, "a"), ("a", None)])
def test_device_source_beside_modules_that_no_wheel_holds_is_a_build_s_input(
    before: str | None, after: str | None
) -> None:
    head = HEAD | ({} if before is None else {"src/pkg/kernel.cu": before})
    change = judged("src/pkg/kernel.cu", before, after)
    assert summary(selected(change, head=head)) == ["src/pkg/kernel.cu: jit-input"]
