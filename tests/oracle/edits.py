"""Random edits of a worktree, as a developer makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

Draw = Callable[..., Any]
"""Hypothesis' ``data.draw``: a value of a strategy."""

NAMES = ("alpha", "beta", "norm")
"""Few, so that removed names come back, and a module meets a directory of its name."""

DATA_SUFFIXES = (".json", ".pyi", ".txt")


class Worktree:
    """The files of a repository on disk, and what was done to them.

    Args:
        top: where the files lie.
        head: what the repository's commit holds, by path.
    """

    def __init__(self, top: Path, head: Mapping[str, bytes]) -> None:
        self._top = top
        self._head = head
        self.files = dict(head)

    def write(self, path: str, content: bytes) -> None:
        (self._top / path).parent.mkdir(parents=True, exist_ok=True)
        (self._top / path).write_bytes(content)
        self.files[path] = content

    def remove(self, path: str) -> None:
        (self._top / path).unlink()
        del self.files[path]

    def undo(self, path: str) -> None:
        """As the commit has it."""
        if path in self._head:
            self.write(path, self._head[path])
        elif path in self.files:
            self.remove(path)

    def directories(self) -> list[str]:
        """Those of the package and below it that hold files."""
        return sorted({path.rpartition("/")[0] for path in self.files if path.startswith("pkg/")} | {"pkg"})

    def touched(self) -> list[str]:
        paths = self.files.keys() | self._head.keys()
        return sorted(path for path in paths if self.files.get(path) != self._head.get(path))


def edit(worktree: Worktree, draw: Draw) -> None:
    path = draw(st.sampled_from([*_of_package(worktree), "pkg/__init__.py", "README.md"]))
    worktree.write(path, worktree.files[path] + _line(path, draw))


def add_module(worktree: Worktree, draw: Draw) -> None:
    path = f"{draw(st.sampled_from(worktree.directories()))}/{draw(st.sampled_from(NAMES))}.py"
    worktree.write(path, _line(path, draw))


def add_data(worktree: Worktree, draw: Draw) -> None:
    directory = draw(st.sampled_from([*worktree.directories(), "pkg/assets"]))
    path = f"{directory}/{draw(st.sampled_from(NAMES))}{draw(st.sampled_from(DATA_SUFFIXES))}"
    worktree.write(path, _line(path, draw))


def add_package(worktree: Worktree, draw: Draw) -> None:
    """A directory with a module; its ``__init__.py`` may be forgotten."""
    directory = f"{draw(st.sampled_from(worktree.directories()))}/{draw(st.sampled_from(NAMES))}"
    if draw(st.integers(0, 3)):
        worktree.write(f"{directory}/__init__.py", b"")
    worktree.write(f"{directory}/part.py", _line("part.py", draw))


def delete(worktree: Worktree, draw: Draw) -> None:
    worktree.remove(draw(st.sampled_from(_of_package(worktree))))


def move(worktree: Worktree, draw: Draw) -> None:
    path = draw(st.sampled_from(_of_package(worktree)))
    suffix = "." + path.rpartition(".")[2]
    new = f"{draw(st.sampled_from(worktree.directories()))}/{draw(st.sampled_from(NAMES))}{suffix}"
    content = worktree.files[path]
    worktree.remove(path)
    worktree.write(new, content)


def undo(worktree: Worktree, draw: Draw) -> None:
    if touched := worktree.touched():
        worktree.undo(draw(st.sampled_from(touched)))


def undo_everything(worktree: Worktree, _draw: Draw) -> None:
    for path in worktree.touched():
        worktree.undo(path)


EDITS = (edit, edit, add_module, add_data, add_package, delete, move, undo, undo_everything)


def random_edit(worktree: Worktree, draw: Draw) -> None:
    """One edit of any kind. The package itself stays: its ``__init__.py`` is neither moved nor removed."""
    draw(st.sampled_from(EDITS))(worktree, draw)


def _of_package(worktree: Worktree) -> list[str]:
    return sorted(path for path in worktree.files if path.startswith("pkg/") and path != "pkg/__init__.py")


def _line(path: str, draw: Draw) -> bytes:
    number = draw(st.integers(0, 9))
    return b"VALUE = %d\n" % number if path.endswith((".py", ".pyi")) else b"%d\n" % number
