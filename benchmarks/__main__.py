"""``python -m benchmarks [NAME...] [--rounds N] [--json FILE]``: the table; an engine is needed."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.rows import HEADER, Row, line_of, write
from benchmarks.stage import staged
from benchmarks.suite import SUITE


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", help=f"measure only these, of {', '.join(SUITE)}")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--modules", type=int, default=3900)
    parser.add_argument("--others", type=int, default=6000)
    parser.add_argument("--idle-seconds", type=float, default=180.0, help="of the row idle-watch")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if unknown := set(given.names) - set(SUITE):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    chosen = [measure for name, measure in SUITE.items() if not given.names or name in given.names]
    rows: list[Row] = []
    print(HEADER)
    with (
        tempfile.TemporaryDirectory() as directory,
        staged(
            Path(directory),
            modules=given.modules,
            others=given.others,
            idle_seconds=given.idle_seconds,
        ) as bench,
    ):
        for measure in chosen:
            measured = measure(bench, given.rounds)
            print("\n".join(map(line_of, measured)), flush=True)
            rows += measured
    if given.json:
        write(given.json, rows)


if __name__ == "__main__":
    main()
