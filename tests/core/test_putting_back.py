"""What a person is told to do about a file of the overlay that was edited in the target."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

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
    "cd /site && rm -f 'pkg/a b.py.new' && cp -p '.overlaysync/my-pkg/originals/pkg/a b.py' 'pkg/a b.py.new'"
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
    below = structs.replace(IN_A_CONTAINER, root="/a\nsite")
    assert below.way_back(EDITED, of(EDITED, "by hand")) == RE_CREATE
    assert below.way_back(ADDED, of(ADDED, "by hand")) == RE_CREATE


@pytest.mark.parametrize("shell", ["", "sh -c"], ids=["here", "in a container"])
@pytest.mark.parametrize("destination", ["pkg/a b.py", 'pkg/it\'s "$HOME" & `b`\\.py', "-f.py", "pkg/é;*.py"])
def test_the_command_writes_through_no_link(tmp_path: Path, shell: str, destination: str) -> None:
    """Neither where the original goes, nor by the name of the copy beside it."""
    site, cache = tmp_path / "my 'site'", tmp_path / "cache"
    kept, file = site / ".overlaysync/my-pkg/originals" / destination, site / destination
    for path, content in ((kept, "head"), (cache, "cached"), (file, "by hand")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    beside = Path(f"{file}.new")
    item = placement(f"src/{destination}", destination, "head", "edited")
    said = Originals(shell, str(site), "my-pkg").way_back(item, of(item, "by hand"))
    for link in (beside.symlink_to, beside.hardlink_to):
        file.unlink()
        os.link(cache, file)
        link(cache)
        subprocess.run(said.rpartition(" again: ")[2], shell=True, check=True, cwd=tmp_path)
        assert (file.read_text(), cache.read_text()) == ("head", "cached")
        assert not file.is_symlink() and not os.path.lexists(beside)


def test_a_name_is_no_option() -> None:
    odd = placement("-f.py", "-f.py", "head", "edited")
    assert IN_A_CONTAINER.way_back(odd, of(odd, "by hand")).endswith("mv -f ./-f.py.new ./-f.py'")
