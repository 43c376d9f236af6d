"""``python -m benchmarks.growth DIRECTORY``: how costs grow with the package and the change, as pictures.

An engine is needed, and the extra ``benchmarks``. ``--sizes`` and ``--counts`` try it with less.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.many import AGAINST, SIZE
from benchmarks.plots import draw
from benchmarks.rows import HEADER, Row, compare, line_of, write
from benchmarks.stage import Bench, staged
from benchmarks.suite import push_one, status

SIZES, COUNTS = (1_000, 10_000, 50_000), (1, 10, 100, 1_000, 5_000)
MODULE_SIZE = 2_000
"""Of a file of the package, so that the largest one is made in minutes."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth")
    parser.add_argument("directory", type=Path, help="where the pictures go")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="files of the package")
    parser.add_argument("--counts", type=int, nargs="+", default=COUNTS, help="files of one push")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    print(HEADER)
    package = with_package(sorted(given.sizes), given.rounds)
    draw(
        given.directory / "growth-package.png",
        "One file changed, by the size of the package",
        "files in the package",
        package,
    )
    change = with_change(sorted(given.counts), given.rounds)
    draw(
        given.directory / "growth-push.png",
        f"Push of files of {SIZE // 1000} KB to tmpfs, by their number",
        "files changed",
        change,
    )
    if given.json:
        write(given.json, [*package, *change])


def with_package(sizes: Sequence[int], rounds: int) -> list[Row]:
    """A push of one file, and ``status``."""
    rows: list[Row] = []
    for size in sizes:
        with (
            tempfile.TemporaryDirectory() as directory,
            staged(Path(directory), modules=size, others=0, size=MODULE_SIZE) as bench,
        ):
            rows += _told(size, [*push_one(bench, rounds), *status(bench, rounds)])
    return rows


def with_change(counts: Sequence[int], rounds: int) -> list[Row]:
    """A push of so many files; each count keeps the files of the one before, so they have to rise."""
    rows: list[Row] = []
    with (
        tempfile.TemporaryDirectory() as directory,
        staged(Path(directory), modules=max(counts), others=0, size=MODULE_SIZE) as overlay,
        overlay.on_tmpfs() as bench,
    ):
        for count in counts:
            rows += _told(count, _push(bench, bench.modules(count), rounds))
    return rows


def _told(size: int, rows: Sequence[Row]) -> list[Row]:
    sized = [replace(row, size=size) for row in rows]
    print("\n".join(map(line_of, sized)), flush=True)
    return sized


def _push(bench: Bench, names: list[str], rounds: int) -> list[Row]:
    def ours() -> float:
        bench.edit_many(names, SIZE)
        return bench.tool("push")

    return compare("push", ours, AGAINST, lambda: bench.tar(names, "/tmp"), None, rounds)


if __name__ == "__main__":
    main()
