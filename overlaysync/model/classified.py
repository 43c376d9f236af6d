"""What a change is: its class, and why it cannot go on by itself."""

from __future__ import annotations

import enum

from msgspec import Struct

from overlaysync.model.problem import Problem
from overlaysync.model.worktree import Change


class ChangeClass(str, enum.Enum):
    """The classes of changes; only ``python`` and ``data`` are overlaid without being asked about."""

    PYTHON = "python"
    DATA = "data"
    NATIVE = "native"
    BINDING = "binding"
    BUILD = "build"
    GENERATED = "generated"
    JIT = "jit"
    SUBMODULE = "submodule"
    LINK = "link"
    OUTSIDE = "outside"  # no build reads it and no wheel holds it


class ClassifiedChange(Struct, frozen=True):
    """A change with its class.

    ``problems``: why it cannot be overlaid; empty for a build file that differs in nothing a build uses.
    ``note``: what is worth saying without being a reason to refuse ("comments or formatting only").
    """

    change: Change
    change_class: ChangeClass
    problems: tuple[Problem, ...] = ()
    note: str | None = None
