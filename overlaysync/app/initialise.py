"""``init``: a configuration for this worktree and target, with what was proven about them."""

from __future__ import annotations

import contextlib
from pathlib import Path

from msgspec import structs

from overlaysync.app.contact import Contact, contact
from overlaysync.app.options import Options, Stage
from overlaysync.app.report import details_of, result_of
from overlaysync.app.survey import Situation, survey
from overlaysync.app.timing import Stages
from overlaysync.config.configuration import PackageConfiguration
from overlaysync.config.proposal import proposal
from overlaysync.core.evidence import describe
from overlaysync.errors import UsageError
from overlaysync.model.result import Result
from overlaysync.state.directories import cache_directory
from overlaysync.worktree.worktree import open_worktree

FILE = "overlaysync.toml"
SETTLED_BY_CONFIGURATION = ("content-differs",)
"""Problems that the proposed configuration answers, once a person has agreed with it."""


def initialise(options: Options, stage: Stage, *, print_only: bool = False) -> Result:
    """Proves evidence and mapping, and writes ``overlaysync.toml`` at the root of the worktree.

    Raises UsageError when there is one already.
    """
    stages = Stages(stage)
    with (
        open_worktree(options.worktree, cache_directory()) as worktree,
        contact(options, stages) as target,
    ):
        file = Path(worktree.repository.root) / FILE
        if not print_only and (file.exists() or file.is_symlink()):
            next_step = "look at what would be written: overlaysync init --print"
            raise UsageError(f"{file} is there already", next_step)
        situation = survey(target, worktree, options, stages)
        text = proposal(options.container or "", _package(target, situation))
        if not print_only:
            _write_new(file, text)
        problems = [item for item in situation.problems if item.code not in SETTLED_BY_CONFIGURATION]
        result = result_of("init", "planned", 0, target, situation, stages.milliseconds(), problems=problems)
        details = {**details_of(target, situation), **_findings(situation), "configuration": text}
        details["sentence"] = "nothing was written" if print_only else f"written: {file}"
        return structs.replace(result, operations=(), details=details)


def _package(target: Contact, situation: Situation) -> PackageConfiguration:
    """What the file would say: only what was found to be needed."""
    differing = (item for item in situation.problems if item.code == "content-differs")
    overwritten = sorted(item.path for item in differing if item.path)
    named = tuple(
        f"{item.kind}:{item.name}" if item.kind != "pep610" else "pep610"
        for item in situation.baseline.evidence
        if item.commit is not None and item.kind != "given"
    )
    return PackageConfiguration(
        distribution=target.name,
        image_commit=named or target.package.image_commit,
        interpreter=target.interpreter.path if target.identity.kind != "local" else None,
        user=target.package.user,
        generated=tuple(overwritten),
        working_directory=target.package.working_directory,
    )


def _findings(situation: Situation) -> dict[str, list[str]]:
    evidence = [
        f"{describe(item)}: {item.value or 'nothing'}" + ("" if item.commit else " (no full commit id)")
        for item in situation.baseline.evidence
    ]
    return {"evidence": evidence, "mapping": _mapping(situation)}


def _mapping(situation: Situation) -> list[str]:
    """Which source directory is installed where, the best proven first."""
    proven = sorted(situation.shipped.pairs.items(), key=lambda item: -item[1])
    return [
        f"{pair.source or '.'}/ is installed as {pair.installed or '.'}/ (proven by {count} files)"
        for pair, count in proven[:5]
    ]


def _write_new(file: Path, text: str) -> None:
    with contextlib.suppress(FileExistsError), file.open("x", encoding="utf-8") as stream:
        stream.write(text)
