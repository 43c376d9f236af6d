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

    def also(self, text: str) -> None:
        """Says more, after what was said."""
        self.message += text
        self.args = (self.message,)


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


class WorkloadError(OverlaysyncError):
    """A process that could have the package loaded started while the push was under way."""

    exit_code = 6
    default_code = "workload"


class ApplyError(OverlaysyncError):
    """Applying failed; the transaction was rolled back, or the message says what was not."""

    exit_code = 8
    default_code = "apply-failed"


class UnfinishedError(ApplyError):
    """What was interrupted can be neither finished nor rolled back; the message says how the files stand."""

    default_code = "unfinished"


class WorktreeChangedError(ApplyError):
    """A worktree file vanished or changed between the plan and its copy; nothing of it may be installed."""

    default_code = "unstable-file"


class AnotherTargetError(ApplyError):
    """Of several targets of one run, this one is as it was because ``name`` could not be changed."""

    default_code = "another-target"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} could not be changed, which belongs to the same run",
            f"see what is said of {name}",
        )


class LockedError(OverlaysyncError):
    """Another run works on the same target."""

    exit_code = 9
    default_code = "locked"


class SupersededError(LockedError):
    """The overlay that a watch put there was taken away, or another worktree's took its place."""

    default_code = "superseded"


class TargetChangedError(OverlaysyncError):
    """The target's files are others than when they were looked at, which was a while ago."""

    exit_code = 5
    default_code = "target-changed"


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

    def __init__(self) -> None:
        super().__init__(
            "interrupted; what was not recorded is rolled back, by the next contact at the latest",
            "see where things stand: overlaysync status",
        )


REFUSALS = (3, 4, 5, 6)
"""Exit codes of what was refused; every other one but 0 and 1 is a failure."""

EXIT_CODES: dict[int, str] = {
    0: "applied, or nothing to do",
    1: "finished, with findings: drift, a stale process, something missing; with `--check`, changes pending",
    2: "usage or configuration",
    3: "refused: a change needs a rebuild, or is of a kind that cannot be overlaid",
    4: "refused: the baseline is not equal, or not proven",
    5: "refused: the target's content (original differs, new file exists, shadowed, mount, link, not "
    "importable)",
    6: "refused: a workload is running",
    7: "the target is unreachable or unsuitable",
    8: "failed while applying; rolled back, the target is as it was, or the message says what is not",
    9: "another run holds the lock",
    70: "a bug of ours; a report file is named",
    130: "interrupted",
}
"""What each exit code tells a program; ``docs/exit-codes.md`` is made of it."""

ERROR_CODES: dict[str, str] = {
    "usage": "The command line, or the place it was called from, is wrong.",
    "configuration": "A configuration file is wrong; the message names file, key and what is allowed.",
    "no-target": "Neither the command line nor the configuration names a target.",
    "unknown-target": "The words after `--container` name no target.",
    "baseline": "The worktree cannot be a baseline at all: it has no commit, an unfinished merge or "
    "rebase, or unmerged paths; git refuses it; or HEAD moved during the run.",
    "target": "The target cannot be reached, or cannot be worked with.",
    "no-engine": "The container engine's command is not installed, or the engine does not answer.",
    "no-container": "The engine knows no container of that name.",
    "no-environment": "There is no such directory on this machine.",
    "several-containers": "Several running containers are what the target's name stands for.",
    "no-image": "The engine has the container's image no more.",
    "target-stopped": "The container is not running.",
    "target-paused": "The container is paused, so nothing can be proven in it.",
    "no-python": "No Python can be started in the target.",
    "python-too-old": "The Python that was started is older than the agent needs.",
    "agent-lost": "The conversation with the agent broke off; what was not recorded is rolled back by the "
    "agent itself, or at the next contact.",
    "not-installed": "No Python of the target holds the distribution.",
    "several-interpreters": "More than one Python of the target holds the distribution.",
    "demo": "The demonstration lacks a part of this installation.",
    "apply-failed": "Something failed while files were staged or put in place.",
    "workload": "A process that could have the package loaded started meanwhile; the target is as it was.",
    "unstable-file": "A worktree file vanished or changed after it was looked at; nothing was installed.",
    "read-back": "What was read back after applying is not what was to be put there.",
    "unfinished": "What was interrupted can be neither finished nor rolled back now; the message says what "
    "stands at each path that is not as it was, and where the originals are.",
    "another-target": "Another target of the same run was refused or failed, so that this one is as it was.",
    "locked": "Another run works on the same target.",
    "superseded": "The overlay that a watch put there was taken away, or another worktree's took its place; "
    "the watch puts it there again with the next change of its own.",
    "target-changed": "While other targets were waited for, somebody changed files of the distribution here.",
    "overlay-damaged": "Our own record in the target cannot be read, or a newer version wrote it.",
    "internal": "A bug of ours; the message names a report file.",
    "interrupted": "The user interrupted the run; what was not recorded is rolled back, by the next "
    "contact at the latest.",
}
"""Every code of an error; ``docs/problem-codes.md`` is made of it, and of ``model.problem_kinds``."""
