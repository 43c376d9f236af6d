"""The plan: ordered operations, each with its cause. Data, decided before anything is written."""

from __future__ import annotations

import enum

from msgspec import Struct

from overlaysync.model.classified import ChangeClass
from overlaysync.model.target import InstalledPath
from overlaysync.model.worktree import ObjectId, RepoPath, Sha256


class Action(str, enum.Enum):
    ADD = "add"
    REPLACE = "replace"
    REMOVE = "remove"


class Placement(Struct, frozen=True):
    """One path of the overlay: what the target must hold there instead of the container's original.

    ``original_sha256`` None: the container has no such file. ``installed_sha256`` None: it is removed.
    """

    source: RepoPath
    destination: InstalledPath
    change_class: ChangeClass
    original_sha256: Sha256 | None
    installed_sha256: Sha256 | None
    blob: ObjectId | None = None
    size: int = 0


class Operation(Struct, frozen=True):
    """One step of a plan.

    ``before``/``after``: digest of the destination before and after this step (None: no file).
    ``restores``: the content is the container's kept original, not the worktree's file.
    ``keeps_original``: what stands at the destination before this step is the container's original.
    """

    action: Action
    source: RepoPath
    destination: InstalledPath
    change_class: ChangeClass
    before: Sha256 | None
    after: Sha256 | None
    cause: str
    size: int = 0
    restores: bool = False
    keeps_original: bool = False


class Plan(Struct, frozen=True):
    """Operations in order, and the overlay that the target has after them."""

    operations: tuple[Operation, ...] = ()
    overlay: tuple[Placement, ...] = ()

    def __str__(self) -> str:
        return "\n".join(f"{op.action.value} {op.destination}: {op.cause}" for op in self.operations)
