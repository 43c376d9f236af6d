"""What a person is told to do about a file of the overlay that was edited in the target."""

from __future__ import annotations

import shlex

import pytest
from msgspec import structs

from overlaysync.core.putting_back import RE_CREATE, Originals
from overlaysync.model.plan import Placement
from overlaysync.model.target import FileKind, InstalledFile
from tests.core.installation import installed, placement

IN_A_CONTAINER = Originals("docker exec --user root box sh -c", "/site", "my-pkg")
EDITED = placement("src/pkg/a b.py", "pkg/a b.py", "head", "edited")
ADDED = placement("src/pkg/new.py", "pkg/new.py", None, "new")
REMOVED = placement("src/pkg/old.py", "pkg/old.py", "old", None)
SAVE = "save the target's file if it matters; then "
COPY = (
    "cd /site && cp -p '.overlaysync/my-pkg/originals/pkg/a b.py' 'pkg/a b.py.new'"
    " && mv -f 'pkg/a b.py.new' 'pkg/a b.py'"
)


def of(item: Placement, content: str | None) -> InstalledFile:
    """What stands where something was put."""
    if content is None:
        return InstalledFile(item.destination, FileKind.MISSING)
    return installed(item.destination, content)


@pytest.mark.parametrize(
    ("item", "content", "said"),
    [
        (EDITED, "by hand", f"{SAVE}put the original back, and push or revert again: ({COPY})"),
        (EDITED, None, f"put the original back, and push or revert again: ({COPY})"),
        (ADDED, "by hand", f"{SAVE}remove it, and push or revert again: rm /site/pkg/new.py"),
        (REMOVED, "by hand", f"{SAVE}remove it, and push or revert again: rm /site/pkg/old.py"),
    ],
)
def test_the_way_back(item: Placement, content: str | None, said: str) -> None:
    problem = Originals("", "/site", "my-pkg").judge(item, of(item, content))
    assert problem is not None
    assert (problem.code, problem.path, problem.next_step) == ("original-differs", item.source, said)


def test_in_a_container_it_is_one_word_of_a_shell() -> None:
    said = IN_A_CONTAINER.way_back(ADDED, of(ADDED, "by hand"))
    assert said.endswith("again: docker exec --user root box sh -c 'rm /site/pkg/new.py'")
    quoted = IN_A_CONTAINER.way_back(EDITED, of(EDITED, "by hand"))
    *_, word = shlex.split(quoted.rpartition(" again: ")[2])
    assert word == COPY


@pytest.mark.parametrize(("item", "content"), [(EDITED, "head"), (ADDED, None), (REMOVED, "old")])
def test_what_was_put_back_is_in_nobodys_way(item: Placement, content: str | None) -> None:
    assert IN_A_CONTAINER.judge(item, of(item, content)) is None
    assert "push again" in IN_A_CONTAINER.way_back(item, of(item, content))


@pytest.mark.parametrize(("item", "content"), [(EDITED, "edited"), (ADDED, "new"), (REMOVED, None)])
def test_what_was_put_there_is_in_nobodys_way(item: Placement, content: str | None) -> None:
    assert IN_A_CONTAINER.judge(item, of(item, content)) is None


def test_what_is_no_file_or_no_word_is_not_copied_over() -> None:
    link = structs.replace(of(EDITED, "edited"), kind=FileKind.LINK)
    odd = placement("src/pkg/a\n.py", "pkg/a\n.py", "head", "edited")
    for item, file in ((EDITED, link), (odd, of(odd, "by hand"))):
        problem = IN_A_CONTAINER.judge(item, file)
        assert problem is not None and problem.next_step == RE_CREATE


def test_a_name_is_no_option() -> None:
    odd = placement("-f.py", "-f.py", "head", "edited")
    assert IN_A_CONTAINER.way_back(odd, of(odd, "by hand")).endswith("mv -f ./-f.py.new ./-f.py'")
