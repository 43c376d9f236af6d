"""``python -m benchmarks [NAME...] [--rounds N] [--json FILE]``: the table; an engine is needed."""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.stage import staged
from benchmarks.suite import SUITE, Row


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", help=f"measure only these, of {', '.join(SUITE)}")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--modules", type=int, default=3900)
    parser.add_argument("--others", type=int, default=6000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if unknown := set(given.names) - set(SUITE):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    chosen = [measure for name, measure in SUITE.items() if not given.names or name in given.names]
    rows = []
    print(f"{'':28}{'ms':>8}  {'against':26}{'ms':>8}{'ratio':>8}{'at most':>9}")
    with (
        tempfile.TemporaryDirectory() as directory,
        staged(Path(directory), modules=given.modules, others=given.others) as bench,
    ):
        for measure in chosen:
            rows.append(measure(bench, given.rounds))
            print(line_of(rows[-1]), flush=True)
    if given.json:
        given.json.write_text(json.dumps([{**asdict(row), "ratio": row.ratio} for row in rows], indent=1))


def line_of(row: Row) -> str:
    limit = "" if row.limit is None else f"{row.limit:.1f}"
    return f"{row.what:28}{row.ours:8.0f}  {row.against:26}{row.floor:8.0f}{row.ratio:8.2f}{limit:>9}"


if __name__ == "__main__":
    main()
