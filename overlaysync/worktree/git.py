"""Runs git's plumbing. What git could start is switched off, and what could change its answer is pinned.

The checkout is untrusted: its configuration may name programs (fsmonitor, hooks, filters, transports). Only
commands that need none of them are used, and the pins below hold against the repository's, the user's and the
system's configuration alike. Of the user's configuration only ``safe.directory`` matters, so HOME is kept.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import threading
from collections.abc import Mapping

from msgspec import Struct

from overlaysync.errors import BaselineError, OverlaysyncError, UsageError

_PINNED = (
    "core.attributesFile=/dev/null",  # only the repository's own attributes and ignore rules count
    "core.excludesFile=/dev/null",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.ignoreCase=false",
    "core.quotePath=false",
    "core.untrackedCache=false",
    "protocol.allow=never",
    "sparse.expectFilesOutsideOfPatterns=true",  # else git hides the skip-worktree bit of a present file
    "submodule.recurse=false",
)
_ARGUMENTS = ("git", "--no-pager", "--no-optional-locks", *(word for pin in _PINNED for word in ("-c", pin)))

_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "none",  # protocol.<name>.allow of a repository would override protocol.allow
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


_STRICTER = "GIT_TEST_ASSUME_DIFFERENT_OWNER"
"""git's own switch to take every checkout for another user's: it can only make git refuse."""


def environment() -> dict[str, str]:
    """The environment for git: ours without any ``GIT_*`` variable but one, plus the pins."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name == _STRICTER
    }
    return inherited | _ENVIRONMENT


class Answer(Struct, frozen=True):
    """What a git command gave back with an expected exit status."""

    status: int
    output: bytes
    messages: str

    @property
    def text(self) -> str:
        return decode(self.output)


def decode(raw: bytes) -> str:
    """Text of git, or a path: UTF-8 in any locale, other bytes as surrogates (see ``RepoPath``)."""
    return raw.decode("utf-8", "surrogateescape")


def encode(path: str) -> bytes:
    """The bytes that ``decode`` got."""
    return path.encode("utf-8", "surrogateescape")


class Git:
    """git, run in one directory."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._environment = environment()

    def with_variables(self, variables: Mapping[str, str]) -> Git:
        """The same with more variables in git's environment."""
        changed = Git(self.directory)
        changed._environment = self._environment | dict(variables)
        return changed

    def at(self, directory: str) -> Git:
        """The same in another directory."""
        changed = Git(directory)
        changed._environment = self._environment
        return changed

    def run(self, *arguments: str, given: bytes | None = None, expected: tuple[int, ...] = (0,)) -> Answer:
        """Run a command to its end.

        Args:
            arguments: the command and its options.
            given: its standard input.
            expected: the exit statuses that are an answer; any other is an error.

        Raises:
            UsageError: git is not installed, or the directory is in no repository.
            BaselineError: git refused; the message has its own words.
        """
        process = self.start(*arguments, messages=subprocess.PIPE, given=given is not None)
        output, messages = process.communicate(given)
        if process.returncode not in expected:
            raise failure(self.directory, arguments[0], process.returncode, decode(messages))
        return Answer(process.returncode, output, decode(messages))

    def begin(self, *arguments: str, expected: tuple[int, ...] = (0,)) -> Pending:
        """Start a command and go on; ``Pending.answer`` waits for it and raises what ``run`` would raise."""
        process = self.start(*arguments, messages=subprocess.PIPE, given=False)
        return Pending(self.directory, arguments[0], process, expected)

    def start(
        self, *arguments: str, messages: int = subprocess.DEVNULL, given: bool = True
    ) -> subprocess.Popen[bytes]:
        """Start a command with a pipe at its output and, where ``given``, at its input."""
        try:
            return subprocess.Popen(
                [*_ARGUMENTS, *arguments],
                cwd=encode(self.directory),
                env=self._environment,
                stdin=subprocess.PIPE if given else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=messages,
            )
        except FileNotFoundError as error:
            if error.filename != "git":
                raise UsageError(
                    f"the directory {self.directory!r} is no longer there", "name a checkout with -C DIR"
                ) from error
            raise UsageError(
                "git is not installed, or not on PATH", "install git 2.31 or later, then run this again"
            ) from error


class Pending:
    """A command that runs while its caller does something else."""

    def __init__(
        self, directory: str, command: str, process: subprocess.Popen[bytes], expected: tuple[int, ...]
    ) -> None:
        self._directory, self._command, self._process = directory, command, process
        self._expected = expected
        self._said = (b"", b"")
        # Its output is taken as it comes: git would stand still at a full pipe.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        self._said = self._process.communicate()

    def answer(self) -> Answer:
        """Wait for the end; an exit status that was not expected is an error."""
        self._reader.join()
        output, messages = self._said[0], decode(self._said[1])
        status = self._process.returncode
        if status not in self._expected:
            raise failure(self._directory, self._command, status, messages)
        return Answer(status, output, messages)


def failure(directory: str, command: str, status: int, messages: str) -> OverlaysyncError:
    """The error for an exit status that is no answer, with git's own words and what to do."""
    words = " ".join(messages.split())[:600] or "git gave no reason"
    if "not a git repository" in words:
        return UsageError(
            f"{directory!r} is not in a git repository ({words})",
            "run from inside a checkout, or name one with -C DIR",
        )
    if "dubious ownership" in words:
        return BaselineError(
            f"git refuses the repository because another user owns it: {words}",
            "run as the owner, or, if you trust the checkout, allow it yourself with "
            "'git config --global --add safe.directory DIR'",
        )
    return BaselineError(
        f"git {command} ended with exit status {status}: {words}",
        f"see what this says, mend it, then run this again: git -C {shlex.quote(directory)} {command}",
    )
