"""``init``: a configuration for this worktree and target, with what was proven about them."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from overlaysync.app.calling import Call
from overlaysync.app.contact import Contact, contact
from overlaysync.app.options import Options, Stage
from overlaysync.app.report import details_of, result_of
from overlaysync.app.survey import Situation, survey
from overlaysync.app.timing import Stages
from overlaysync.config.configuration import PackageConfiguration
from overlaysync.config.loading import OWN_FILE, load
from overlaysync.config.proposal import proposal
from overlaysync.core.counting import counted
from overlaysync.core.evidence import describe
from overlaysync.errors import UsageError
from overlaysync.model.result import Result
from overlaysync.worktree.worktree import open_worktree

WORKLOAD = "workload"
_LOOK_AT_IT = "look at what would be written: overlaysync init --print"


def initialise(call: Call, stage: Stage, *, print_only: bool = False) -> Result:
    """Proves evidence and mapping, and writes ``overlaysync.toml`` at the root of the worktree.

    What stands in the way of a push is told, not settled: the exit code is 1 then. A workload is a note: it
    stands in the way of a push while it runs, and says nothing about the configuration.

    Raises UsageError when there is a configuration already.
    """
    stages, options = Stages(stage), call.options
    with open_worktree(options.worktree, options.cache_directory()) as worktree:
        target = contact(call, stages)
        file = Path(worktree.repository.root) / OWN_FILE
        if not print_only:
            _refuse_second(file)
        situation = survey(target, worktree, options, stages)
        text = proposal(
            _target(target, options), _package(target, situation), overwritten=_overwritten(situation)
        )
        if not print_only:
            _write_new(file, text)
        found = [item for item in situation.problems if item.code != WORKLOAD]
        code, timings = 1 if found else 0, stages.milliseconds()
        result = result_of("init", "planned", code, target, situation, timings, problems=found)
        details = {**details_of(target, situation), **_findings(situation), "configuration": text}
        details["notes"] += _running(situation)
        details["sentence"] = "nothing was written" if print_only else f"written: {file}"
        return structs.replace(result, operations=(), details=details)


def _target(target: Contact, options: Options) -> str | None:
    """What the file names; this machine is only ever named on the command line."""
    identity = target.identity
    return None if identity.kind == "local" else options.container or identity.specification


def _package(target: Contact, situation: Situation) -> PackageConfiguration:
    """What is configured, with what was found."""
    named = tuple(
        f"{item.kind}:{item.name}" if item.kind != "pep610" else "pep610"
        for item in situation.baseline.evidence
        if item.commit is not None and item.kind != "given"
    )
    return structs.replace(
        target.package,
        distribution=target.name,
        image_commit=named or target.package.image_commit,
        interpreter=target.interpreter.path if target.identity.kind != "local" else None,
    )


def _overwritten(situation: Situation) -> list[str]:
    """Tracked files that were installed with other content than the image commit's, by RECORD's hashes."""
    if situation.reading.image_tree is None:
        return []  # what they were compared with is not the image's commit
    different = situation.baseline.content.different
    built = (item for item in different if item.explained is None and item.target_sha256 is not None)
    return sorted({item.source for item in built if item.target_sha256 == item.record_sha256})


def _findings(situation: Situation) -> dict[str, list[str]]:
    evidence = [
        f"{describe(item)}: {item.value or 'nothing'}" + ("" if item.commit else " (no full commit id)")
        for item in situation.baseline.evidence
    ]
    return {"evidence": evidence, "mapping": _mapping(situation)}


def _running(situation: Situation) -> list[str]:
    return [
        f"{item.message}; no push writes while it runs → {item.next_step}"
        for item in situation.problems
        if item.code == WORKLOAD
    ]


def _mapping(situation: Situation) -> list[str]:
    """Which source directory is installed where, the best proven first."""
    proven = sorted(situation.shipped.pairs.items(), key=lambda item: -item[1])
    return [
        f"{pair.source or '.'}/ is installed as {pair.installed or '.'}/ (proven by {counted(count, 'file')})"
        for pair, count in proven[:5]
    ]


def _refuse_second(file: Path) -> None:
    """Raises UsageError where the worktree is configured; two configurations would refuse every run."""
    if file.exists() or file.is_symlink():
        raise _there_already(file)
    configured = load(file.parent, None).file
    if configured is not None:
        raise UsageError(f"{configured} configures this worktree already, by [tool.overlaysync]", _LOOK_AT_IT)


def _write_new(file: Path, text: str) -> None:
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError as error:  # it came after the first look
        raise _there_already(file) from error
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}", _LOOK_AT_IT) from error


def _there_already(file: Path) -> UsageError:
    return UsageError(f"{file} is there already", _LOOK_AT_IT)
