"""Installed files against HEAD's blobs, and what the differences mean."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec import structs

from overlaysync.core.drift import compare, judge
from overlaysync.core.mapping import prove
from overlaysync.core.putting_back import Originals
from overlaysync.model.evidence import ContentCount
from overlaysync.model.plan import Placement
from overlaysync.model.target import FileKind, InstalledFile
from overlaysync.model.worktree import RepoPath, Sha256
from tests.core.installation import Files, installed, placement, sha256, tree, wheel

HEAD = {"src/pkg/a.py": "a", "src/pkg/b.py": "b", "src/pkg/c.py": "c"}
ORIGINALS = Originals("", "/site", "pkg")
SOUND = [installed(f"pkg/{name}.py", name) for name in "abc"]


def looked(
    files: Sequence[InstalledFile],
    *,
    head: Files = HEAD,
    overlay: Sequence[Placement] = (),
    generated: Sequence[str] = (),
    touched: dict[str, str | None] | None = None,
) -> tuple[ContentCount, list[tuple[str, str | None]]]:
    """The counts, and code and path of every problem, with these worktree changes."""
    placements = {item.destination: item for item in overlay}
    content = compare(tree(head), prove(tree(head), files, placements), files, placements, generated, {})
    digests: dict[RepoPath, Sha256 | None] = {
        RepoPath(path): None if text is None else sha256(text) for path, text in (touched or {}).items()
    }
    problems = judge(content, files, digests, placements, ORIGINALS)
    return content, [(problem.code, problem.path) for problem in problems]


def test_every_equal_file_counts() -> None:
    content, problems = looked(SOUND)
    assert (content.compared, content.equal, content.different, problems) == (3, 3, (), [])


CASES: dict[str, tuple[InstalledFile, dict[str, str | None], list[tuple[str, str | None]]]] = {
    # name: (the file in place of pkg/a.py, changes of the worktree, the problems)
    "built with other content": (
        installed("pkg/a.py", "built"),
        {},
        [("content-differs", "src/pkg/a.py")],
    ),
    "no hash in RECORD": (
        structs.replace(installed("pkg/a.py", "other"), record_sha256=None),
        {},
        [("content-differs", "src/pkg/a.py")],
    ),
    "changed after installation": (
        installed("pkg/a.py", "edited", recorded="a"),
        {},
        [("drift", "src/pkg/a.py")],
    ),
    "changed after installation, and pushed": (
        installed("pkg/a.py", "edited", recorded="a"),
        {"src/pkg/a.py": "ours"},
        [("original-differs", "src/pkg/a.py")],
    ),
    "gone": (installed("pkg/a.py", None, recorded="a"), {}, [("drift", "src/pkg/a.py")]),
    "gone, and pushed": (
        installed("pkg/a.py", None, recorded="a"),
        {"src/pkg/a.py": None},
        [("original-differs", "src/pkg/a.py")],
    ),
}


@pytest.mark.parametrize(("file", "touched", "expected"), CASES.values(), ids=CASES)
def test_a_difference_is_the_builds_or_was_made_later(
    file: InstalledFile, touched: dict[str, str | None], expected: list[tuple[str, str | None]]
) -> None:
    content, problems = looked([file, *SOUND[1:]], touched=touched)
    assert problems == expected
    assert (content.compared, content.equal) == (3, 2)
    assert [item.explained for item in content.different] == [None]


def test_the_message_shows_three_hashes() -> None:
    files = [installed("pkg/a.py", "edited", recorded="a"), *SOUND[1:]]
    shipped = prove(tree(HEAD), files)
    content = compare(tree(HEAD), shipped, files, {}, (), {})
    (problem,) = judge(content, files, {RepoPath("src/pkg/a.py"): sha256("ours")}, {}, ORIGINALS)
    for digest in (tree(HEAD)[RepoPath("src/pkg/a.py")].oid, sha256("edited"), sha256("ours")):
        assert digest[:12] in problem.message


def test_our_own_overlay_explains_a_difference() -> None:
    files = [installed("pkg/a.py", "ours", recorded="a"), installed("pkg/b.py", None, recorded="b"), SOUND[2]]
    overlay = [
        placement("src/pkg/a.py", "pkg/a.py", "a", "ours"),
        placement("src/pkg/b.py", "pkg/b.py", "b", None),
    ]
    content, problems = looked(files, overlay=overlay)
    assert problems == []
    assert [item.explained for item in content.different] == ["overlay", "overlay"]
    assert content.equal == 1


def test_a_change_over_our_overlay_is_not_explained_by_it() -> None:
    files = [installed("pkg/a.py", "somebody's", recorded="a"), *SOUND[1:]]
    _, problems = looked(files, overlay=[placement("src/pkg/a.py", "pkg/a.py", "a", "ours")])
    assert problems == [("original-differs", "src/pkg/a.py")]


def test_an_original_that_stands_again_is_the_builds_whatever_head_is_by_now() -> None:
    files = [installed("pkg/a.py", "a"), *SOUND[1:]]
    there = [placement("src/pkg/a.py", "pkg/a.py", "a", "ours")]
    assert looked(files, overlay=there)[1] == []
    _, problems = looked(files, overlay=there, head={**HEAD, "src/pkg/a.py": "next"})
    assert problems == [("content-differs", "src/pkg/a.py")]


def test_a_file_that_the_build_overwrites_is_explained_when_declared_but_never_pushed() -> None:
    files = [installed("pkg/a.py", "built"), *SOUND[1:]]
    content, problems = looked(files, generated=["src/pkg/a.py"])
    assert ([item.explained for item in content.different], problems) == (["generated"], [])
    _, problems = looked(files, generated=["/src/pkg/a*"], touched={"src/pkg/a.py": "ours"})
    assert problems == [("original-differs", "src/pkg/a.py")]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (installed("pkg/_C.so", "machine code"), []),
        (structs.replace(installed("pkg/_C.so", "machine code"), record_sha256=None), []),
        (installed("pkg/_C.so", "other code", recorded="machine code"), [("drift", "pkg/_C.so")]),
        (installed("pkg/_C.so", None, recorded="machine code"), [("drift", "pkg/_C.so")]),
        (
            structs.replace(
                installed("pkg/_C.so", "machine code"), kind=FileKind.LINK, sha256=None, blob=None
            ),
            [("drift", "pkg/_C.so")],
        ),
    ],
    ids=["as recorded", "not recorded", "changed", "gone", "a link"],
)
def test_files_without_a_tracked_source_are_what_was_installed(
    file: InstalledFile, expected: list[tuple[str, str | None]]
) -> None:
    assert looked([*SOUND, file])[1] == expected


@pytest.mark.parametrize(
    "files",
    [wheel({"pkg/a.py": "1", "pkg/b.py": "2"}), wheel({"other/x.py": "x"}), []],
    ids=["all of another commit", "of another project", "nothing installed"],
)
def test_without_one_equal_file_nothing_is_proven(files: list[InstalledFile]) -> None:
    content, problems = looked(files)
    assert (content.equal, problems) == (0, [("content-unproven", None)])


def test_an_overlay_on_every_file_is_proof_of_its_own() -> None:
    files = [installed("pkg/a.py", "ours", recorded="a")]
    overlay = [placement("src/pkg/a.py", "pkg/a.py", "a", "ours")]
    assert looked(files, head={"src/pkg/a.py": "a"}, overlay=overlay)[1] == []


def test_every_difference_is_told_however_many_there_are() -> None:
    names = [f"m{number:02}" for number in range(50)]
    head = {f"pkg/{name}.py": name for name in names} | {"pkg/same.py": "same"}
    files = [installed(f"pkg/{name}.py", "built " + name) for name in names] + wheel({"pkg/same.py": "same"})
    content = compare(tree(head), prove(tree(head), files), files, {}, (), {})
    problems = judge(content, files, {}, {}, ORIGINALS)
    assert [problem.path for problem in problems] == [f"pkg/{name}.py" for name in names]
    assert {problem.code for problem in problems} == {"content-differs"}


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("a", "none of 1 installed file that has a tracked source equals HEAD's"),
        ("ab", "none of 2 installed files that have a tracked source equals HEAD's"),
    ],
)
def test_one_file_is_no_files(names: str, said: str) -> None:
    files = [installed(f"pkg/{name}.py", "other " + name) for name in names]
    (problem,) = judge(ContentCount(len(files)), files, {}, {}, ORIGINALS)
    assert problem.message == said
