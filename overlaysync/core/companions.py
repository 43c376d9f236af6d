"""The projects that the distribution requires: what else its compiled parts were built to fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from overlaysync.core import provenance
from overlaysync.core.names import canonical
from overlaysync.model.manifest import Manifest
from overlaysync.model.problem import Problem
from overlaysync.model.target import UNKNOWN, Companion, Distribution, Interpreter, TargetIdentity

if TYPE_CHECKING:
    from packaging.requirements import Requirement


def judge(
    name: str, interpreter: Interpreter, identity: TargetIdentity, manifest: Manifest | None
) -> list[Problem]:
    """The distribution and what it requires must be as at the last push, or before one as in the image.

    Only what the distribution requires counts: any other project may come and go.
    """
    return [
        Problem(
            "environment-changed",
            f"{other}: {what}",
            "rebuild the image, or if they fit together: --acknowledge environment",
            other,
        )
        for other, what, required in _changes(name, interpreter, identity, manifest)
        if required
    ]


def notes(
    name: str, interpreter: Interpreter, identity: TargetIdentity, manifest: Manifest | None
) -> list[str]:
    """What is worth knowing of companions and is no reason to refuse."""
    told = [
        f"{other}: {what}"
        for other, what, required in _changes(name, interpreter, identity, manifest)
        if not required
    ]
    itself = of_name(name, interpreter)
    if provenance.made_at(identity) is not None and not provenance.times_tell(itself, identity):
        told.append(
            "all files were touched after the container was made (their owner, or with a copy of the image), "
            "so a requirement that was replaced with its times kept is not noticed"
        )
    return told


def of_name(name: str, interpreter: Interpreter) -> Companion | None:
    """The distribution itself, as it is installed."""
    return next((item for item in interpreter.companions if item.name == name), None)


def _changes(
    name: str, interpreter: Interpreter, identity: TargetIdentity, manifest: Manifest | None
) -> list[tuple[str, str, bool]]:
    """(project, what became of it, whether it is required)."""
    now = {item.name: item for item in interpreter.companions}
    before = _recorded(manifest, interpreter)
    here = manifest is not None and manifest.target.container_id == identity.container_id
    found = []
    for other in sorted(now.keys() | before.keys()):
        last, item = before.get(other), now.get(other)
        what = None
        if last is not None:
            what = _difference(last, item, times=here and other != name)
        if what is None and item is not None and not (last is not None and here) and other != name:
            what = _since_image(item, now.get(name), identity)
        if what is not None:
            found.append((other, what, (item or last or Companion(other)).required))
    return found


def _recorded(manifest: Manifest | None, interpreter: Interpreter) -> dict[str, Companion]:
    """As the last push had them; records without digests have versions of what is required now."""
    if manifest is None:
        return {}
    if manifest.companions:
        return {item.name: item for item in manifest.companions}
    required = [item.name for item in interpreter.companions if item.required]
    return {
        other: Companion(other, version=manifest.environment[other])
        for other in required
        if other in manifest.environment
    }


def _difference(last: Companion, item: Companion | None, *, times: bool) -> str | None:
    if item is None or item.version != last.version:
        now = (item.version or "of unknown version") if item is not None else "gone"
        return (
            f"it is {now} in the target now; it was {last.version or 'of unknown version'} at the last push"
        )
    if last.record_sha256 is not None and item.record_sha256 != last.record_sha256:
        return f"it is still {item.version}, but another build than at the last push (by its RECORD)"
    if times and last.changed_at is not None and item.changed_at != last.changed_at:
        return "its libraries, or its RECORD, were changed in the target after the last push"
    return None


def _since_image(item: Companion, itself: Companion | None, identity: TargetIdentity) -> str | None:
    if not provenance.later_than_image(item, itself, identity):
        return None
    version = item.version or UNKNOWN
    return f"it ({version}) was installed, or a library of it changed, after the container was made"


def unmet(distribution: Distribution, interpreter: Interpreter) -> list[str]:
    """Requirements that the target's environment does not meet: told, since the image may be meant so."""
    if not distribution.requires:
        return []
    from packaging.markers import default_environment

    environment = {
        **{key: str(value) for key, value in default_environment().items()},
        "python_version": ".".join(interpreter.version.split(".")[:2]),
        "python_full_version": interpreter.version,
        "extra": "",
    }
    return [
        f"{item} is required, {interpreter.installed[canonical(item.name)]} is installed"
        for item in _requirements(distribution)
        if _applies(item, environment) and not _met(item, interpreter)
    ]


def _requirements(distribution: Distribution) -> list[Requirement]:
    from packaging.requirements import InvalidRequirement, Requirement

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
    from packaging.version import InvalidVersion

    version = interpreter.installed.get(canonical(requirement.name))
    if version is None:
        return True
    try:
        return requirement.specifier.contains(version, prereleases=True)
    except InvalidVersion:
        return True
