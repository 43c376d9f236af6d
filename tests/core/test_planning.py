"""Plans compared as text, and carried out on a model of a target."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from overlaysync.core.planning import Desired, is_in_place, make_plan, plan_revert
from overlaysync.core.putting_back import Originals
from overlaysync.model.plan import Placement, Plan
from overlaysync.model.problem import Problem
from overlaysync.model.target import FileKind, InstalledFile, InstalledPath
from overlaysync.model.worktree import Sha256
from tests.core.installation import Files, desired, found, installed, placement, sha256

ORIGINALS = Originals("", "/site", "pkg")


def planned(
    wanted: list[Desired], target: Files, overlay: list[Placement] | None = None
) -> tuple[Plan, tuple[Problem, ...]]:
    """The plan for a target that holds these contents."""
    known = {item.destination: item for item in overlay or []}
    files = found(target, {item.destination for item in wanted} | set(known))
    return make_plan(wanted, files, known, (), ORIGINALS)


EDIT = desired("src/pkg/a.py", "pkg/a.py", "head", "edited")
ADDITION = desired("src/pkg/new.py", "pkg/new.py", None, "new")
REMOVAL = desired("src/pkg/old.py", "pkg/old.py", "old", None)
EDITED = placement("src/pkg/a.py", "pkg/a.py", "head", "edited")
ADDED = placement("src/pkg/new.py", "pkg/new.py", None, "new")
REMOVED = placement("src/pkg/old.py", "pkg/old.py", "old", None)
IMAGE = {"pkg/a.py": "head", "pkg/old.py": "old"}
OVERLAID = {"pkg/a.py": "edited", "pkg/new.py": "new"}

PLANS: dict[str, tuple[list[Desired], Files, list[Placement], str]] = {
    # name: (what is wanted, what the target holds, what the last manifest put there, the plan)
    "first push": (
        [EDIT, ADDITION, REMOVAL],
        IMAGE,
        [],
        "replace pkg/a.py: modified\nadd pkg/new.py: added\nremove pkg/old.py: removed",
    ),
    "nothing changed since": ([EDIT, ADDITION, REMOVAL], OVERLAID, [EDITED, ADDED, REMOVED], ""),
    "another edit of the same files": (
        [
            desired("src/pkg/a.py", "pkg/a.py", "head", "again"),
            desired("src/pkg/new.py", "pkg/new.py", None, "newer"),
        ],
        OVERLAID,
        [EDITED, ADDED],
        "replace pkg/a.py: modified\nreplace pkg/new.py: added",
    ),
    "everything back at HEAD": (
        [],
        OVERLAID,
        [EDITED, ADDED, REMOVED],
        "replace pkg/a.py: back to the container's original\n"
        "remove pkg/new.py: back to the container's original\n"
        "add pkg/old.py: back to the container's original",
    ),
    "edited, now removed": (
        [desired("src/pkg/a.py", "pkg/a.py", "head", None)],
        OVERLAID,
        [EDITED],
        "remove pkg/a.py: removed",
    ),
    "removed, now edited": (
        [desired("src/pkg/old.py", "pkg/old.py", "old", "edited")],
        {},
        [REMOVED],
        "add pkg/old.py: modified",
    ),
    "put back by hand, still wanted": ([EDIT], IMAGE, [EDITED], "replace pkg/a.py: modified"),
    "put back by hand, not wanted any more": (
        [],
        IMAGE,
        [EDITED, ADDED, REMOVED],
        "replace pkg/a.py: back to the container's original\n"
        "replace pkg/old.py: back to the container's original",
    ),
}


@pytest.mark.parametrize(("wanted", "target", "overlay", "text"), PLANS.values(), ids=PLANS)
def test_the_plan_leads_from_what_is_there_to_what_is_wanted(
    wanted: list[Desired], target: Files, overlay: list[Placement], text: str
) -> None:
    plan, problems = planned(wanted, target, overlay)
    assert (str(plan), problems) == (text, ())


TROUBLE: dict[str, tuple[Desired, Files, list[Placement], str]] = {
    "the original is not HEAD's": (EDIT, {"pkg/a.py": "somebody's"}, [], "original-differs"),
    "the original is gone": (EDIT, {}, [], "destination-missing"),
    "what shall be removed is not HEAD's": (REMOVAL, {"pkg/old.py": "somebody's"}, [], "original-differs"),
    "what shall be removed is gone": (REMOVAL, {}, [], "destination-missing"),
    "a new file is there already": (ADDITION, {"pkg/new.py": "somebody's"}, [], "destination-exists"),
    "a new file with our content, but not ours": (ADDITION, {"pkg/new.py": "new"}, [], "destination-exists"),
    "changed over our edit": (EDIT, {"pkg/a.py": "somebody's"}, [EDITED], "original-differs"),
    "our edit is gone": (EDIT, {}, [EDITED], "original-differs"),
    "changed over our addition": (ADDITION, {"pkg/new.py": "somebody's"}, [ADDED], "original-differs"),
    "something new where we removed": (REMOVAL, {"pkg/old.py": "somebody's"}, [REMOVED], "original-differs"),
}


@pytest.mark.parametrize(("wanted", "target", "overlay", "code"), TROUBLE.values(), ids=TROUBLE)
def test_what_is_not_understood_is_left_alone(
    wanted: Desired, target: Files, overlay: list[Placement], code: str
) -> None:
    plan, problems = planned([wanted], target, overlay)
    assert [(problem.code, problem.path) for problem in problems] == [(code, wanted.source)]
    assert not plan.operations


@pytest.mark.parametrize("target", [{"pkg/a.py": "somebody's"}, {}], ids=["changed", "gone"])
def test_what_is_not_ours_any_more_is_not_put_back(target: Files) -> None:
    plan, problems = planned([], target, [EDITED])
    assert [problem.code for problem in problems] == ["original-differs"]
    assert not plan.operations


def in_the_way(path: str, **particulars: object) -> tuple[Plan, tuple[Problem, ...]]:
    """The plan for an edit of a file that is particular."""
    file = structs.replace(installed(path, "head"), **particulars)
    return make_plan([EDIT], {InstalledPath(path): file}, {}, (), ORIGINALS)


@pytest.mark.parametrize(
    ("particulars", "code"),
    [
        ({"kind": FileKind.LINK}, "link"),
        ({"kind": FileKind.OTHER}, "link"),
        ({"kind": FileKind.UNREADABLE, "error": "Permission denied"}, "original-differs"),
        ({"twins": ("pkg/a.cpython-311-x86_64-linux-gnu.so",)}, "compiled-twin"),
        ({"unwritable": "/site is on a read-only file system"}, "not-writable"),
    ],
    ids=str,
)
def test_a_destination_that_cannot_be_written_or_would_not_run(
    particulars: dict[str, object], code: str
) -> None:
    _, problems = in_the_way("pkg/a.py", **particulars)
    assert [problem.code for problem in problems] == [code]


def test_a_plain_file_is_in_nobodys_way() -> None:
    plan, problems = in_the_way("pkg/a.py", mode=0o600, uid=1000, links=2)
    assert (len(plan.operations), problems) == (1, ())


@pytest.mark.parametrize(
    ("mount", "codes"),
    [
        ("/site", ["mount"]),
        ("/site/pkg", ["mount"]),
        ("/site/pkg/a.py", ["mount"]),
        ("/site/other", []),
        ("/site/pk", []),
    ],
)
def test_a_mount_hides_the_images_files(mount: str, codes: list[str]) -> None:
    _, problems = make_plan([EDIT], found(IMAGE, ["pkg/a.py"]), {}, (mount,), ORIGINALS)
    assert [problem.code for problem in problems] == codes


def test_removed_by_hand_leaves_only_a_record_to_write() -> None:
    overlay = {item.destination: item for item in (EDITED, ADDED)}
    plan, _ = planned([], IMAGE, [ADDED])
    assert not plan.operations
    assert not is_in_place(plan, {ADDED.destination: ADDED})
    plan, _ = planned([EDIT, ADDITION], OVERLAID, [EDITED, ADDED])
    assert is_in_place(plan, overlay)


@dataclass
class Target:
    """A model of a target: contents by path, the originals that were kept, the last manifest's overlay."""

    contents: dict[str, str]
    kept: dict[str, str] = field(default_factory=dict)
    overlay: dict[InstalledPath, Placement] = field(default_factory=dict)

    def look(self, wanted: list[Desired]) -> dict[InstalledPath, InstalledFile]:
        return found(self.contents, {item.destination for item in wanted} | set(self.overlay))

    def carry_out(self, plan: Plan, worktree: Files) -> None:
        """As the agent does: each path once, from what was planned for, originals kept and given back."""
        paths = [operation.destination for operation in plan.operations]
        assert len(set(paths)) == len(paths)
        for operation in plan.operations:
            path = operation.destination
            assert operation.before == self.digest(path)
            assert operation.before != operation.after or operation.restores
            if operation.keeps_original:
                assert path not in self.kept
                self.kept[path] = self.contents[path]
            if operation.after is None:
                del self.contents[path]
            else:
                self.contents[path] = self.kept[path] if operation.restores else worktree[operation.source]
            assert operation.after == self.digest(path)
        self.overlay = {item.destination: item for item in plan.overlay}
        self.kept = {path: text for path, text in self.kept.items() if path in self.overlay}

    def digest(self, path: str) -> Sha256 | None:
        return sha256(self.contents[path]) if path in self.contents else None


HEAD = {f"pkg/{name}.py": f"{name} at HEAD" for name in "abcd"}
CHANGES = st.dictionaries(
    st.sampled_from([*HEAD, "pkg/new.py", "pkg/sub/newer.py"]), st.sampled_from([None, "one", "two"])
)
"""The worktree's contents where they differ from HEAD; None: the file is gone."""


def as_desired(changes: dict[str, str | None]) -> list[Desired]:
    return [
        desired(path, path, HEAD.get(path), content)
        for path, content in changes.items()
        if path in HEAD or content is not None
    ]


@given(rounds=st.lists(st.tuples(CHANGES, st.sets(st.sampled_from([*HEAD, "pkg/new.py"]))), max_size=5))
def test_a_target_holds_exactly_the_worktrees_changes_and_after_a_revert_none(
    rounds: list[tuple[dict[str, str | None], set[str]]],
) -> None:
    """Whatever was pushed before, and whatever was put back by hand since."""
    target = Target(dict(HEAD))
    for changes, put_back in rounds:
        for path in put_back & target.overlay.keys():
            target.contents.pop(path, None)
            if path in HEAD:
                target.contents[path] = HEAD[path]
        wanted = as_desired(changes)
        plan, problems = make_plan(wanted, target.look(wanted), target.overlay, (), ORIGINALS)
        assert problems == ()
        target.carry_out(plan, {path: text for path, text in changes.items() if text is not None})
        expected = {path: text for path, text in (HEAD | changes).items() if text is not None}
        assert target.contents == expected
        assert {path: item.installed_sha256 for path, item in target.overlay.items()} == {
            item.destination: item.sha256 for item in wanted
        }
        again, _ = make_plan(wanted, target.look(wanted), target.overlay, (), ORIGINALS)
        assert is_in_place(again, target.overlay)
    plan, problems = plan_revert(target.overlay, target.look([]), ORIGINALS)
    assert problems == ()
    target.carry_out(plan, {})
    assert target == Target(HEAD)
