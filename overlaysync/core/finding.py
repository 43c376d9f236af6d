"""Findings of the judges of changes, and how each becomes a problem with the next command to type."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import structs

from overlaysync.core.modules import module_name
from overlaysync.model.problem import Problem
from overlaysync.model.target import InstalledPath
from overlaysync.model.worktree import Change, ChangeKind, Ported, RepoPath

_USER_INFORMATION = re.compile(r"//[^/@\s]+@")


class Finding(NamedTuple):
    """One reason to refuse a change: a problem code and a sentence that says exactly what differs.

    ``certain``: it holds for every Python of the version that found it, whatever room that has.
    """

    code: str
    message: str
    certain: bool = False


class Judgement(NamedTuple):
    """What a judge says about one file's two sides. ``note`` explains where there is nothing to refuse."""

    findings: tuple[Finding, ...] = ()
    note: str | None = None


def as_problem(finding: Finding, change: Change) -> Problem:
    certain = finding.certain and module_name(InstalledPath(change.path)) is not None
    return Problem(finding.code, finding.message, _next_step(finding.code, change), change.path, certain)


def in_development(problem: Problem, change: Change, ported: Ported) -> Problem:
    """The same, with a remedy that holds where a carried state comes from.

    HEAD is another commit there, and may hold the change; what undoes it is the image commit's file.
    """
    return structs.replace(problem, next_step=_next_step(problem.code, change, ported))


def judged_by(problem: Problem, host: str, target: str) -> Problem:
    """The same; where the target's Python is of another version, with which one judged, and what that leaves.

    ``host``, ``target``: versions. Those of one minor version have one grammar.
    """
    if problem.code != "syntax-error" or host.split(".")[:2] == target.split(".")[:2]:
        return problem
    correct = _REMEDIES["syntax-error"]
    return structs.replace(
        problem,
        message=f"{problem.message} (judged by this host's Python {host}; the target's is {target})",
        certain=False,
        next_step=f"{correct} (where the target's Python takes it: --acknowledge syntax)"
        f"{problem.next_step.removeprefix(correct)}",
    )


def listed(items: Sequence[object], limit: int = 6) -> str:
    """At most ``limit`` of the items, as text, and how many more there are."""
    more = len(items) - limit
    return ", ".join(map(str, items[:limit])) + (f" and {more} more" if more > 0 else "")


def printable(text: str) -> str:
    """Text fit for a message: no user names or passwords of URLs, no undecodable bytes."""
    return _USER_INFORMATION.sub("//", text).encode("utf-8", "backslashreplace").decode()


_REMEDIES = {
    "binding-change": "add --acknowledge binding if what the image has compiled is known to have it",
    "jit-change": "add --acknowledge jit and start with a fresh cache of compiled kernels",
    "syntax-error": "correct it",
    "generated-change": "change its input and rebuild the image",
    "startup-hook": "rebuild the image, so that an installer places it",
}


def _next_step(code: str, change: Change, ported: Ported | None = None) -> str:
    if code == "unsafe-name":
        return f"rename it: {'mv' if change.head is None else 'git mv'} -- {shell_word(change.path)} NEW-NAME"
    is_submodule = code == "submodule-change" and change.content is None
    undo = _undo_submodule(change, ported) if is_submodule else _undo(change, ported)
    remedy = _REMEDIES.get(code, "rebuild the image")
    if code == "syntax-error" and ported is not None:
        return remedy  # the image commit's file is as old as the branch
    return f"{remedy}, or undo: {undo}"


def _undo(change: Change, ported: Ported | None) -> str:
    """The git command that takes the change out of the difference, and keeps it in the stash.

    Where the change was carried, it may be committed, and goes from the branch.
    """
    added = change.kind is ChangeKind.ADDED
    if ported is None:
        return f"git stash push{' --include-untracked' if added else ''} -- {shell_word(change.path)}"
    return f"{_git_of(ported)} rm -f -- {shell_word(change.path)}" if added else _check_out(change, ported)


def _check_out(change: Change, ported: Ported | None) -> str:
    checkout = "git checkout HEAD"
    if ported is not None:
        checkout = f"{_git_of(ported)} checkout {ported.image_commit}"
    return f"{checkout} -- {shell_word(change.path)}"


def _git_of(ported: Ported) -> str:
    return f"git -C {shlex.quote(ported.root)}"


def _undo_submodule(change: Change, ported: Ported | None) -> str:
    path = shell_word(change.path)
    if change.kind is ChangeKind.ADDED:
        return f"mv -- {path} .."
    return f"{_check_out(change, ported)} && git submodule update --init -- {path}"


def shell_word(path: RepoPath) -> str:
    """The path as one word of a shell's command line, printable whatever bytes it holds."""
    if path.isprintable():
        return shlex.quote(path)
    raw = path.encode("utf-8", "surrogateescape")
    return "$'" + "".join(_ansi_c(byte) for byte in raw) + "'"


def _ansi_c(byte: int) -> str:
    character = chr(byte)
    if character in "\\'":
        return "\\" + character
    return character if 0x20 <= byte < 0x7F else f"\\x{byte:02x}"
