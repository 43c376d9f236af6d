"""Judge overlaysync by rebuilds, on the projects listed or on any other one at two or more states."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import click

from tests.oracle.building import BuildFailedError, Workshop
from tests.oracle.judging import Judge, Outcome, Project, State, Verdict
from tests.oracle.projects import SUBJECTS, Subject
from tests.oracle.report import as_document, as_text
from tests.oracle.trees import read_commit, read_directory

DOCUMENT = Path(__file__).parents[2] / "docs" / "oracle.md"


def default_directory() -> Path:
    """Where downloads, build environments and wheels are kept."""
    return Path(tempfile.gettempdir(), "overlaysync-oracle")


def judge_releases(workshop: Workshop, project: Project, releases: Sequence[str]) -> Iterator[Verdict]:
    """Each release pushed onto the wheel of the one before it."""
    judge = Judge(workshop)
    known: State | None = None
    for version in releases:
        try:
            state = State(version, workshop.release(project.name, version))
            if known is None:
                workshop.wheel(state.tree, project.name)  # its backend serves the next downloads
        except BuildFailedError as error:
            label = known.label if known else "-"
            yield Verdict(project.name, label, version, Outcome.SKIPPED, f"cannot be had here: {error}")
            continue
        if known is not None:
            yield judge.judge(project, known, state)
        known = state


def judge_subject(workshop: Workshop, subject: Subject) -> list[Verdict]:
    """All verdicts on one of the projects listed, told as they come."""
    verdicts = []
    began = time.monotonic()
    project = subject.project
    found = (Judge(workshop).judge(project, *pair) for pair in pairwise(subject.states))
    for verdict in found if subject.states else judge_releases(workshop, project, subject.releases):
        click.echo(as_text(verdict))
        verdicts.append(verdict)
    click.echo(f"{project.name}: {time.monotonic() - began:.0f} s", err=True)
    return verdicts


@click.command(help=__doc__)
@click.option("--all", "everything", is_flag=True, help="Every project listed; writes docs/oracle.md.")
@click.option("--only", metavar="NAME", multiple=True, help="Of the projects listed only this one.")
@click.option("--project", metavar="NAME", help="The distribution to judge by.")
@click.option("--releases", metavar="VERSIONS", help="Its source releases, in order: '1.0 1.1 1.2'.")
@click.option("--repository", type=click.Path(path_type=Path, exists=True), help="A git repository of it.")
@click.option("--commits", metavar="COMMITS", help="Commits of the repository, in order.")
@click.option("--trees", type=click.Path(path_type=Path, exists=True), nargs=2, help="Two directories of it.")
@click.option(
    "--untracked", metavar="PATTERN", multiple=True, help="What is generated: patterns of gitignore."
)
@click.option(
    "--config", type=click.Path(path_type=Path, exists=True), help="An overlaysync.toml to push with."
)
@click.option(
    "--keep", type=click.Path(path_type=Path), default=default_directory, help="Where builds are kept."
)
@click.option("--jobs", default=2, show_default=True, help="So many projects at a time.")
def main(  # noqa: PLR0917  # click passes options by name
    everything: bool,
    only: tuple[str, ...],
    project: str | None,
    releases: str | None,
    repository: Path | None,
    commits: str | None,
    trees: tuple[Path, Path] | None,
    untracked: tuple[str, ...],
    config: Path | None,
    keep: Path,
    jobs: int,
) -> None:
    workshop = Workshop(keep)
    if everything or only:
        subjects = [subject for subject in SUBJECTS if not only or subject.project.name in only]
        verdicts = _judge_all(workshop, subjects, jobs)
        if everything and not only:
            DOCUMENT.write_text(as_document(SUBJECTS, verdicts))
    elif project is None:
        raise click.UsageError("name --all, --only NAME, or --project NAME with two states of it")
    else:
        judged = Project(project, untracked, config.read_text() if config else "")
        if releases:
            found = judge_releases(workshop, judged, releases.split())
        else:
            states = _states(repository, commits, trees)
            found = (Judge(workshop).judge(judged, *pair) for pair in pairwise(states))
        verdicts = []
        for verdict in found:
            click.echo(as_text(verdict))
            verdicts.append(verdict)
    sys.exit(any(verdict.outcome is Outcome.WRONG for verdict in verdicts))


def _judge_all(workshop: Workshop, subjects: Sequence[Subject], jobs: int) -> list[Verdict]:
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda subject: judge_subject(workshop, subject), subjects)
        return [verdict for verdicts in results for verdict in verdicts]


def _states(repository: Path | None, commits: str | None, trees: tuple[Path, Path] | None) -> list[State]:
    if repository is not None and commits:
        return [State(commit, read_commit(repository, commit)) for commit in commits.split()]
    if trees:
        return [State(str(top), read_directory(top)) for top in trees]
    raise click.UsageError("name two states: --releases, --repository with --commits, or --trees")


if __name__ == "__main__":
    main()
