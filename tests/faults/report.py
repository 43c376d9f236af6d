"""Inject every kind of fault at every point of every change set, and write docs/faults.md of it."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import click

from tests.faults.change_sets import CHANGE_SETS
from tests.faults.document import as_document, as_text
from tests.faults.judge import Tally, judge
from tests.faults.kinds import FULL, Kind
from tests.faults.tracing import trouble_with_strace

DOCUMENT = Path(__file__).parents[2] / "docs" / "faults.md"


@click.command(help=__doc__)
@click.option("--all", "everything", is_flag=True, help="Every change set and kind; writes docs/faults.md.")
@click.option("--only", metavar="NAME", multiple=True, help="Of the change sets only this one.")
@click.option(
    "--kind", "named", type=click.Choice([kind.name for kind in Kind]), multiple=True, help="Only this kind."
)
@click.option("--jobs", default=os.cpu_count(), show_default=True, help="So many processes.")
@click.option(
    "--directory", type=click.Path(path_type=Path, exists=True), help="Where trees are made; a tmpfs is fast."
)
def main(
    everything: bool, only: tuple[str, ...], named: tuple[str, ...], jobs: int, directory: Path | None
) -> None:
    if not (everything or only or named):
        raise click.UsageError("name --all, --only NAME or --kind KIND")
    if (trouble := trouble_with_strace()) is not None:
        raise click.UsageError(trouble)
    kinds = [kind for kind in Kind if kind.name in named or not named]
    if os.geteuid() != 0 and FULL & set(kinds):
        raise click.UsageError("full disks are mounted, which needs root; name other kinds with --kind")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="faults-", dir=directory) as place:
        tallies = _judge_all(Path(place).resolve(), only, kinds, jobs)
    click.echo(f"{sum(tally.points for tally in tallies)} points, {time.monotonic() - began:.0f} s", err=True)
    if everything and not only and not named:
        DOCUMENT.write_text(as_document(tallies))
    sys.exit(any(tally.wrong for tally in tallies))


def _judge_all(place: Path, only: tuple[str, ...], kinds: list[Kind], jobs: int) -> list[Tally]:
    """In the order of the change sets and kinds; told as they come."""
    tasks: list[Future[Tally]] = []
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for turn, change_set in enumerate(CHANGE_SETS):
            for kind in kinds if not only or change_set.name in only else ():
                directory = place / f"{turn}-{kind.name}"
                tasks.append(pool.submit(judge, directory, turn, kind))
        for task in as_completed(tasks):
            click.echo(as_text(task.result()))
    return [task.result() for task in tasks]


if __name__ == "__main__":
    main()
