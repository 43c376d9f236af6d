"""Whether what is known of the image holds for what is installed in the container.

The engine tells when it made the container; layers were unpacked before that. The time of a file's last
status change cannot be set by any program, so what has a later one was touched in the container. Both times
are read off one clock: that of the kernel on which engine and containers run, however far away it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from overlaysync.core.counting import counted
from overlaysync.model.evidence import Evidence
from overlaysync.model.problem import Problem
from overlaysync.model.target import Companion, Inventory, TargetIdentity

OF_IMAGE = ("label", "env")
"""Kinds of evidence that the image's configuration holds: they speak for the image's files alone."""

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(\.\d+)?\s?(Z|[+-]\d\d:?\d\d)")


def made_at(identity: TargetIdentity) -> float | None:
    """When the container was made (RFC 3339), in seconds since the epoch; None where no engine tells."""
    moment = _MOMENT.match(identity.created_at)
    if moment is None:
        return None
    day, fraction, zone = moment.groups()
    offset = "+00:00" if zone == "Z" else f"{zone[:3]}:{zone[-2:]}"
    return datetime.fromisoformat(day + offset).timestamp() + float(fraction or 0)


def later_than_image(item: Companion, itself: Companion | None, identity: TargetIdentity) -> bool:
    """Whether a project, or a library of it, came after the container and the distribution.

    Where all files were touched since (an owner changed throughout, a store that copies the image), only
    times of modification are left to tell, and what they do not show is not known (``times_tell``).
    """
    made = made_at(identity)
    if made is None or item.changed_at is None or item.written_at is None:
        return False
    if not times_tell(itself, identity):
        return item.written_at > made
    installed = itself.changed_at if itself is not None and itself.changed_at is not None else made
    return item.changed_at > max(made, installed)


def times_tell(itself: Companion | None, identity: TargetIdentity) -> bool:
    """Whether status times tell anything: not where the distribution itself was touched and not written."""
    made = made_at(identity)
    if made is None or itself is None or itself.changed_at is None or itself.written_at is None:
        return made is not None
    return itself.changed_at <= made or itself.written_at > made


def judge(
    evidence: Sequence[Evidence], itself: Companion | None, inventory: Inventory, identity: TargetIdentity
) -> list[Problem]:
    """Evidence of the image alone does not speak for what came into the container by another way."""
    named = [item for item in evidence if item.commit is not None]
    if made_at(identity) is None or not named or any(item.kind not in OF_IMAGE for item in named):
        return []
    where = inventory.mounted_on
    if where not in (None, "/"):
        message = f"{inventory.root} lies on the mount {where}, so what the image says does not speak for it"
        return [Problem("mount", message, f"start the container without that mount, {_OR_GIVE}")]
    if itself is not None and _installed_later(itself, identity):
        message = (
            f"{itself.name} was installed after the container was made ({identity.created_at}), so the "
            f"{named[0].kind} {named[0].name} does not speak for it"
        )
        return [Problem("no-image-commit", message, f"re-create the target from its image, {_OR_GIVE}")]
    return []


def judge_mounts(inventory: Inventory) -> list[Problem]:
    """Mounts that hide files of the distribution: what stands there is not what was installed."""
    problems = []
    for mount in inventory.mounts:
        places = (f"{inventory.root}/{file.path}" for file in inventory.files)
        hidden = [place for place in places if place == mount or place.startswith(mount + "/")]
        if hidden:
            files = counted(len(hidden), "file")
            message = f"{mount} is a mount point in the target, and hides {files} of the image"
            problems.append(Problem("mount", message, "start the container without that mount", mount))
    return problems


_OR_GIVE = "or name the commit of what is installed: --image-commit FULL"


def _installed_later(itself: Companion, identity: TargetIdentity) -> bool:
    made = made_at(identity)
    if made is None or itself.changed_at is None or itself.written_at is None:
        return False
    return itself.changed_at > made and itself.written_at > made
