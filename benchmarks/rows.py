"""What comes out of a measurement: rows, each a ratio to a floor, a peer or a limit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.measuring import interleaved, median

HEADER = f"{'':34}{'ours':>9}  {'against':36}{'theirs':>9}{'':4}{'ratio':>8}{'at most':>9}"


@dataclass(frozen=True)
class Row:
    """Medians, of times in milliseconds.

    Args:
        floor: what it is measured against; None where that is not installed.
        limit: the ratio that is wanted (None: for information).
        size: how much of what the cost grows with there was, where that is the question.
    """

    what: str
    against: str
    ours: float
    floor: float | None
    limit: float | None
    unit: str = "ms"
    size: int | None = None

    @property
    def ratio(self) -> float | None:
        return None if self.floor is None else self.ours / self.floor


Contender = Callable[[], float]
"""Seconds that one run took."""


def compare(
    what: str, ours: Contender, against: str, floor: Contender, limit: float | None, rounds: int
) -> list[Row]:
    """Ours beside one floor."""
    return compare_all(what, ours, {against: floor}, limit, rounds)


def compare_all(
    what: str,
    ours: Contender,
    others: Mapping[str, Contender | None],
    limit: float | None,
    rounds: int,
) -> list[Row]:
    """Ours first in each round, then each of the others on what ours has changed; a row for each of them.

    ``others``: None for what is not installed.
    """
    there = {name: contender for name, contender in others.items() if contender is not None}
    taken = interleaved({"": ours, **there}, rounds)
    middles = {name: median(seconds) * 1000 for name, seconds in taken.items()}
    return [Row(what, name, middles[""], middles.get(name), limit) for name in others]


def line_of(row: Row) -> str:
    """A line of the table under ``HEADER``."""
    digits = 0 if row.unit == "ms" else 2
    what = row.what if row.size is None else f"{row.what}, of {row.size:,}"
    if row.ratio is None:
        return f"{what:34}{row.ours:9.{digits}f}  {row.against:36} not installed"
    limit = "" if row.limit is None else f"{row.limit:.1f}"
    numbers = f"{row.floor:9.{digits}f} {row.unit:3}{row.ratio:8.2f}{limit:>9}"
    return f"{what:34}{row.ours:9.{digits}f}  {row.against:36}{numbers}"


def write(path: Path, rows: Iterable[Row]) -> None:
    """The rows as JSON."""
    path.write_text(json.dumps([{**asdict(row), "ratio": row.ratio} for row in rows], indent=1) + "\n")
