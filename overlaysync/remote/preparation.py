"""What the agent can be told before it is asked, and the parts that this shares with the questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from overlaysync.agent import frames
from overlaysync.model.seams import KnownFiles
from overlaysync.model.target import Setting


def preparation(
    interpreters: Sequence[str],
    setting: Setting,
    root: str,
    metadata: str,
    distribution: str,
    known: KnownFiles,
    *,
    packages: Sequence[str] = (),
) -> bytes:
    """What tells the agent to begin ``interpreters`` and ``open``, before they are asked for, as a frame.

    It can be sent first of all, and trouble with it is told when they are asked for. The environment is not
    in it: it is taken to be the agent's.
    """
    request = {
        "do": "prepare",
        "interpreters": list(interpreters),
        "distribution": distribution,
        "opening": opening(root, metadata, distribution, known, packages),
        **workload_of(structs.replace(setting, environment={})),
    }
    return frames.encode(request)


def opening(
    root: str, metadata: str, distribution: str, known: KnownFiles | None, packages: Sequence[str]
) -> dict[str, Any]:
    """See ``AgentSession.open``."""
    return {
        "root": root,
        "metadata": metadata,
        "distribution": distribution,
        "packages": list(packages),
        "known": known.fingerprints() if known is not None else {},
    }


def workload_of(setting: Setting) -> dict[str, Any]:
    return {
        "user": setting.user,
        "environment": setting.environment,
        "working_directory": setting.working_directory,
    }
