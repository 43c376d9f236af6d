"""What a command answers to a program: ``--json`` (``overlaysync.result/1``)."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field

from overlaysync.model.evidence import Evidence

Outcome = Literal["applied", "unchanged", "planned", "refused", "failed"]


class ResultTarget(Struct, frozen=True):
    kind: str
    name: str
    container_id: str | None = None
    image_id: str | None = None
    interpreter: str | None = None


class ResultContent(Struct, frozen=True):
    compared: int
    equal: int
    overlaid: int = 0
    different: tuple[str, ...] = ()


class ResultBaseline(Struct, frozen=True):
    head: str
    image_commit: str | None
    evidence: tuple[Evidence, ...]
    content: ResultContent


class ResultOperation(Struct, frozen=True, rename={"change_class": "class"}):
    action: Literal["add", "replace", "remove"]
    source: str
    destination: str  # absolute in the target
    change_class: str
    original_sha256: str | None
    installed_sha256: str | None
    cause: str


class ResultProblem(Struct, frozen=True):
    code: str
    path: str | None
    message: str
    next_step: str | None


class Result(Struct, frozen=True):
    """One command's answer. ``details`` holds what only one command has (manifests, checks, a config).

    ``targets``: of a command for several targets, each one's own answer; ``problems`` are then those of all.
    """

    command: str
    outcome: Outcome
    exit_code: int
    target: ResultTarget | None = None
    baseline: ResultBaseline | None = None
    operations: tuple[ResultOperation, ...] = ()
    problems: tuple[ResultProblem, ...] = ()
    not_packaged: tuple[str, ...] = ()
    manifest: str | None = None
    timings_ms: dict[str, float] = field(default_factory=lambda: {"total": 0.0})
    details: dict[str, Any] = field(default_factory=dict)
    targets: tuple[Result, ...] = ()
    schema: Literal["overlaysync.result/1"] = "overlaysync.result/1"
