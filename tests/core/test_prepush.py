"""What git and the pre-commit framework say of a push: nothing that is pushed may go unseen."""

from __future__ import annotations

import pytest
from msgspec import structs

from overlaysync.core.prepush import PushedRef, Ran, from_pre_commit, parse, ran_last, uncompared
from overlaysync.errors import UsageError
from overlaysync.model.manifest import Manifest
from overlaysync.model.worktree import ObjectId, RepoPath, TreeEntry
from tests.state.samples import manifest

COMMIT, OTHER, NOTHING = ObjectId("a" * 40), ObjectId("b" * 40), "0" * 40
REMOTE = "refs/heads/there"


@pytest.mark.parametrize(
    "local", ["refs/heads/here", "HEAD~1", COMMIT, "HEAD@{1 day ago}", ":/Fix  the engine", ""]
)
def test_a_line_of_git_by_any_name(local: str) -> None:
    assert parse(f"{local} {COMMIT} {REMOTE} {OTHER}\n") == [PushedRef(local, COMMIT, REMOTE)]


def test_lines_of_git() -> None:
    text = f"refs/heads/a {COMMIT} refs/heads/a {NOTHING}\n(delete) {NOTHING} refs/heads/b {OTHER}\n"
    assert [ref.commit for ref in parse(text)] == [COMMIT, None]
    assert parse("") == parse("\n") == []


@pytest.mark.parametrize("text", ["refs/heads/a\n", f"{COMMIT} {REMOTE} {OTHER}\n", "one two three"])
def test_what_is_no_line_of_git_stops(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text)


def test_pre_commit_tells_one_ref() -> None:
    told = {"PRE_COMMIT_TO_REF": COMMIT, "PRE_COMMIT_LOCAL_BRANCH": "here", "PRE_COMMIT_REMOTE_BRANCH": "x"}
    assert from_pre_commit(told) == [PushedRef("here", COMMIT, "x")]
    assert from_pre_commit({"PRE_COMMIT_TO_REF": COMMIT}) == [PushedRef(COMMIT, COMMIT, "")]
    assert from_pre_commit({"PRE_COMMIT_TO_REF": NOTHING}) == [PushedRef(NOTHING, None, "")]
    assert from_pre_commit({"PRE_COMMIT": "1"}) is None


def test_a_whole_history_has_no_commit_in_its_variables() -> None:
    told = {"PRE_COMMIT_LOCAL_BRANCH": "refs/heads/here", "PRE_COMMIT_REMOTE_BRANCH": REMOTE}
    assert from_pre_commit(told) == [PushedRef("refs/heads/here", ObjectId("refs/heads/here"), REMOTE)]


def record(number: int, *, target: str = "one", overlay: bool = True, packages: bool = True) -> Manifest:
    made = manifest(f"20261129T12000{number}Z-{number:016x}", target=target)
    held = made.overlay if overlay else ()
    return structs.replace(made, overlay=held, packages=(RepoPath("sample_pkg"),) if packages else ())


def test_what_was_taken_away_counts_where_nothing_else_is_left() -> None:
    pushed, other = record(1), record(2, target="two")
    reverted = record(3, target="two", overlay=False, packages=False)
    left = record(4, overlay=False)
    assert [(item.record, item.taken) for item in ran_last([pushed, other])] == [
        (other, None),
        (pushed, None),
    ]
    assert [(item.record, item.taken) for item in ran_last([pushed, other, reverted])] == [(pushed, None)]
    assert [(item.record, item.taken) for item in ran_last([pushed, other, reverted, left])] == [
        (other, reverted)
    ]
    again = record(5, target="two")
    assert [(item.record, item.taken) for item in ran_last([other, reverted, again])] == [(again, None)]


def test_without_an_overlay_the_images_own_counts_where_a_push_left_it() -> None:
    left, reverted = record(3, overlay=False), record(4, overlay=False, packages=False)
    assert [(item.record, item.taken) for item in ran_last([left, reverted])] == [(left, reverted)]
    assert ran_last([reverted]) == ran_last([]) == []


def test_the_image_of_another_commit_is_no_part_of_what_ran() -> None:
    """An overlay at one commit; then the container was made anew from another, and a push left it alone."""
    overlay, left = record(1), record(2, overlay=False)
    assert ran_last([overlay, left]) == [Ran(overlay, left)]
    anew = structs.replace(left, baseline=structs.replace(left.baseline, image_commit=OTHER))
    assert ran_last([overlay, anew]) == [Ran(anew, anew)]


def test_new_python_at_the_top_is_told_and_not_called_compared() -> None:
    """Whether it ships nothing tells; a directory that had Python of the image commit is known not to."""
    entry = TreeEntry(0o100644, COMMIT)
    image = dict.fromkeys(map(RepoPath, ("sample_pkg/engine.py", "tools/run.py", "docs/a.md")), entry)
    new = (
        "extra/__init__.py",
        "tools/other.py",
        "sample_pkg/new.py",
        "docs/conf.py",
        "extra/a.md",
        "setup2.py",
    )
    pushed = {**image, **dict.fromkeys(map(RepoPath, new), entry)}
    assert uncompared(record(1), image, pushed) == ["docs/conf.py", "extra/__init__.py"]
    assert uncompared(record(1), pushed, pushed) == []
