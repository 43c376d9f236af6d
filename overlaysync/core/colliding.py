"""Destinations that differ from what is installed only in letter case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from overlaysync.core.planning import Desired
from overlaysync.model.problem import Problem
from overlaysync.model.target import InstalledPath


def judge_letter_case(desired: Sequence[Desired], installed: Iterable[InstalledPath]) -> list[Problem]:
    """A problem for each file that would stand beside one of another spelling, or in such a directory.

    The worktree is compared with itself before; here is found what only the target has.
    """
    there = set(installed)
    added = [item for item in desired if item.sha256 is not None and item.destination not in there]
    wanted = {place.casefold() for item in added for place in _places(item.destination)}
    spellings: dict[str, set[str]] = {}
    for place in _all_places(there) if wanted else ():
        if (folded := place.casefold()) in wanted:
            spellings.setdefault(folded, set()).add(place)
    found = (_collision(item, spellings) for item in added)
    return [problem for problem in found if problem is not None]


def _places(path: str) -> Iterator[str]:
    """The path and the directories that it lies in."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def _all_places(files: set[InstalledPath]) -> set[str]:
    """The paths and all directories that they lie in, each once."""
    directories = {path.rpartition("/")[0] for path in files}
    return files.union(*map(_places, directories))


def _collision(item: Desired, spellings: dict[str, set[str]]) -> Problem | None:
    for place in _places(item.destination):
        others = spellings.get(place.casefold(), set())
        if others and place not in others:
            return Problem(
                "case-collision",
                f"{place!r} differs from the installed {min(others)!r} only in letter case",
                "give it another name, or rebuild the image with it",
                item.source,
            )
    return None
