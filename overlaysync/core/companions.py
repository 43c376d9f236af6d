"""The projects that the distribution requires: what else its compiled parts were built to fit."""

from __future__ import annotations

from packaging.markers import default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from overlaysync.model.manifest import Manifest
from overlaysync.model.problem import Problem
from overlaysync.model.target import Distribution, Interpreter


def judge(distribution: Distribution, interpreter: Interpreter, manifest: Manifest | None) -> list[Problem]:
    """Requirements whose version is another than the overlay's manifest recorded.

    Only what the distribution requires counts: any other project may come and go.
    """
    if manifest is None or not manifest.environment:
        return []
    problems = []
    for name in sorted({canonicalize_name(item.name) for item in _requirements(distribution)}):
        before, now = manifest.environment.get(name), interpreter.installed.get(name)
        if name in manifest.environment and before != now:
            message = f"{name} is {now or 'gone'} in the target now; it was {before} at the last push"
            next_step = "rebuild the image, or if they fit together: --acknowledge environment"
            problems.append(Problem("environment-changed", message, next_step, name))
    return problems


def unmet(distribution: Distribution, interpreter: Interpreter) -> list[str]:
    """Requirements that the target's environment does not meet: told, since the image may be meant so."""
    environment = {
        **{key: str(value) for key, value in default_environment().items()},
        "python_version": ".".join(interpreter.version.split(".")[:2]),
        "python_full_version": interpreter.version,
        "extra": "",
    }
    return [
        f"{item} is required, {interpreter.installed[canonicalize_name(item.name)]} is installed"
        for item in _requirements(distribution)
        if _applies(item, environment) and not _met(item, interpreter)
    ]


def _requirements(distribution: Distribution) -> list[Requirement]:
    found = []
    for text in distribution.requires:
        try:
            found.append(Requirement(text))
        except InvalidRequirement:
            continue  # written by no standard tool; nothing can be said of it
    return found


def _applies(requirement: Requirement, environment: dict[str, str]) -> bool:
    return requirement.marker is None or requirement.marker.evaluate(environment)


def _met(requirement: Requirement, interpreter: Interpreter) -> bool:
    """Missing projects are met: what is not there cannot be of the wrong version."""
    version = interpreter.installed.get(canonicalize_name(requirement.name))
    if version is None:
        return True
    try:
        return requirement.specifier.contains(version, prereleases=True)
    except InvalidVersion:
        return True
