"""Containers that belong to a worktree by their labels: dev containers, and services of Compose.

Labels: ``devcontainer.local_folder`` of the dev container command line (containers.dev), and Compose's
``com.docker.compose.project.working_dir``, ``.project`` and ``.service``.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from overlaysync.errors import TargetError

DEV_FOLDER = "devcontainer.local_folder"
PROJECT, SERVICE, DIRECTORY = (
    f"com.docker.compose.{name}" for name in ("project", "service", "project.working_dir")
)
ENGINE_SECONDS = 20.0


class Candidate(Struct, frozen=True):
    """A running container, and why it may be meant."""

    name: str
    why: str


def candidates(root: Path) -> list[Candidate]:
    """Running containers whose labels name this worktree. Empty where no engine answers."""
    try:
        found = list(_running())
    except TargetError:
        return []
    real = os.path.realpath(root)
    chosen = []
    for name, labels in found:
        if DEV_FOLDER in labels and os.path.realpath(labels[DEV_FOLDER]) == real:
            chosen.append(Candidate(name, "dev container of this worktree"))
        elif DIRECTORY in labels and os.path.realpath(labels[DIRECTORY]) == real:
            chosen.append(Candidate(name, f"Compose service {labels.get(SERVICE, '')} of this worktree"))
    return chosen


def service(named: str) -> str:
    """The container of ``SERVICE`` or ``PROJECT/SERVICE``. Raises TargetError where it is not one."""
    project, slash, name = named.rpartition("/")
    running = _running()
    found = [
        (container, labels.get(PROJECT, ""))
        for container, labels in running
        if labels.get(SERVICE) == name and (not slash or labels.get(PROJECT) == project)
    ]
    if len(found) == 1:
        return found[0][0]
    if not found:
        others = {labels[SERVICE] for _, labels in running if SERVICE in labels}
        raise TargetError(
            f"no container of the Compose service {named!r} is running",
            f"{instead(name, others, 'compose:')}start it: docker compose up --detach",
            code="no-container",
        )
    listing = ", ".join(f"{container} (project {project})" for container, project in sorted(found))
    raise TargetError(
        f"several containers of the Compose service {named!r} are running: {listing}",
        "name the project too, compose:PROJECT/SERVICE, or the container itself",
        code="several-containers",
    )


def containers(program: str) -> set[str]:
    """Names of an engine's containers, running or not; none where it does not answer."""
    try:
        # with those of its links, which are paths
        listing = _engine("ps", "--all", "--format", "{{.Names}}", program=program)
    except TargetError:
        return set()
    return set(listing.replace(",", "\n").splitlines())


def instead(name: str, others: set[str], prefix: str = "") -> str:
    """How a next step begins that names those close to a name which is not there; empty where none is."""
    import difflib

    meant = [f"{prefix}{other}" for other in difflib.get_close_matches(name, others)]
    return f"write {' or '.join(meant)} if that is what is meant, or " if meant else ""


def _running() -> Sequence[tuple[str, Mapping[str, str]]]:
    """Name and labels of each running container; labels as JSON, since their text form cannot be split."""
    listing = _engine("ps", "--quiet", "--no-trunc").split()
    if not listing:
        return []
    shape = '{"name": {{json .Name}}, "labels": {{json .Config.Labels}}}'
    lines = _engine("container", "inspect", "--format", shape, *listing).splitlines()
    records = [json.loads(line) for line in lines if line]
    return [(record["name"].lstrip("/"), record["labels"] or {}) for record in records]


def _engine(*words: str, program: str = "docker") -> str:
    try:
        done = subprocess.run(
            [program, *words],
            capture_output=True,
            timeout=ENGINE_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TargetError(
            "no container engine answers", "start it, or name a target", code="no-engine"
        ) from error
    # one that ended between the two questions is told on standard error, beside the others
    if done.returncode != 0 and not done.stdout:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no reason given"]
        raise TargetError(f"{program} {words[0]}: {reason[0]}", f"try: {program} ps", code="no-engine")
    return done.stdout.decode("utf-8", "replace")
