"""The error tree: what ends a run. Each class carries its exit code.

Trouble with one path is never an error of this module: it is a ``model.problem.Problem``.
"""

from __future__ import annotations


class OverlaysyncError(Exception):
    """Base of everything that ends a run on purpose.

    Args:
        message: what happened and why, one sentence, naming the input.
        next_step: what to type or do next, or None where nothing helps.
        code: stable problem code shown to programs (``problems[0].code`` of ``--json``).
    """

    exit_code = 70
    default_code = "internal"

    def __init__(self, message: str, next_step: str | None = None, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step
        self.code = code or self.default_code


class UsageError(OverlaysyncError):
    """The command line or the place it was called from is wrong."""

    exit_code = 2
    default_code = "usage"


class ConfigError(UsageError):
    """A configuration file is wrong; the message names file, key and what is allowed."""

    default_code = "configuration"


class BaselineError(OverlaysyncError):
    """The worktree cannot be a baseline at all (no commit, merge in progress, git refuses)."""

    exit_code = 4
    default_code = "baseline"


class TargetError(OverlaysyncError):
    """The target cannot be reached, or cannot be worked with."""

    exit_code = 7
    default_code = "target"


class NoInterpreterError(TargetError):
    """This Python cannot be started in the target; another one might."""

    default_code = "no-python"


class AgentLostError(TargetError):
    """The agent's side of the conversation ended or broke before its closing frame."""

    default_code = "agent-lost"


class ApplyError(OverlaysyncError):
    """Applying failed; the transaction was rolled back, or the message says what was not."""

    exit_code = 8
    default_code = "apply-failed"


class WorktreeChangedError(ApplyError):
    """A worktree file vanished or changed between the plan and its copy; nothing of it may be installed."""

    default_code = "unstable-file"


class LockedError(OverlaysyncError):
    """Another run works on the same target."""

    exit_code = 9
    default_code = "locked"


class OverlayDamagedError(OverlaysyncError):
    """Our own record in the target cannot be read, or a newer version wrote it."""

    exit_code = 5
    default_code = "overlay-damaged"


class AgentBugError(OverlaysyncError):
    """The agent met what it does not understand: a bug of ours."""


class InterruptedRunError(OverlaysyncError):
    """The user interrupted the run."""

    exit_code = 130
    default_code = "interrupted"
