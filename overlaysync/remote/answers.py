"""What the target answers, checked; it is untrusted (design rule 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from overlaysync import errors
from overlaysync.model.target import InstalledFile, InstalledPath

TOLD = 4000  # characters of what the target says is wrong

FAILURES: Mapping[str, type[errors.OverlaysyncError]] = {
    "locked": errors.LockedError,
    "damaged": errors.OverlayDamagedError,
    "root": errors.TargetError,
    "interpreter": errors.TargetError,
    "system": errors.TargetError,
    "write": errors.ApplyError,
    "apply": errors.ApplyError,
    "unfinished": errors.UnfinishedError,
}
NEXT_STEPS: Mapping[str, str] = {
    "locked": "wait for the other run to end, then run the command again",
    "damaged": "look at the file; if it is of no use, re-create the target from its image",
    "unfinished": "take the cause away (a disk that is full or read-only, a file that was changed or made "
    "immutable meanwhile, or is a mount now), then run any command: the next contact continues",
    "write": "remove the cause in the target, then run the command again",
    "apply": "let what writes there come to rest, then run the command again",
}
NOT_OURS = "look at what answers there in place of its Python, or re-create the target: overlaysync doctor"
ANOTHER_TRY = "run the command again; if it fails the same way, look at the target: overlaysync doctor"


def typed(value: object, kind: Any) -> Any:
    """What the target said, checked against a type. Raises AgentLostError."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeError) as error:  # the latter for a lone surrogate in an enum
        message = f"the target's answer is malformed: {str(error)[:TOLD]}"
        raise errors.AgentLostError(message, NOT_OURS) from error


def files_of(answer: dict[str, Any], paths: Sequence[InstalledPath]) -> dict[InstalledPath, InstalledFile]:
    """The files of an answer, which must be those that were asked for."""
    files: list[InstalledFile] = typed(answer.get("files"), list[InstalledFile])
    if [file.path for file in files] != list(paths):
        raise errors.AgentLostError("the target's answer is about other files", NOT_OURS)
    return {file.path: file for file in files}


def failure_of(report: object) -> errors.OverlaysyncError:
    row: dict[str, str | None] = typed(report, dict[str, str | None])
    kind, message, path = row.get("kind") or "bug", row.get("message") or "", row.get("path")
    text = (f"{path}: {message}" if path else message)[:TOLD]
    return FAILURES.get(kind, errors.AgentBugError)(text, NEXT_STEPS.get(kind, ANOTHER_TRY))
