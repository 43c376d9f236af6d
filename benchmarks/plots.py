"""Pictures of rows; matplotlib is needed, which the extra ``benchmarks`` brings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from benchmarks.rows import Row


def draw(path: Path, title: str, grows: str, rows: Sequence[Row]) -> None:
    """One line for each thing that was measured and for each floor, over the size; both axes logarithmic.

    ``grows``: what the size is.
    """
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for what in dict.fromkeys(row.what for row in rows):
        mine = [row for row in rows if row.what == what]
        axes.plot(_sizes(mine), [row.ours for row in mine], marker="o", label=what)
    for against in dict.fromkeys(row.against for row in rows):
        mine = [row for row in rows if row.against == against and row.what == rows[0].what]
        floors = [row.floor or 0.0 for row in mine]
        axes.plot(_sizes(mine), floors, marker="s", linestyle="--", color="black", label=f"floor: {against}")
    sizes = sorted(set(_sizes(rows)))
    axes.set(title=title, xlabel=grows, ylabel="milliseconds", xscale="log", yscale="log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=110, metadata={"Software": None})


def _sizes(rows: Iterable[Row]) -> list[int]:
    return [row.size or 0 for row in rows]
