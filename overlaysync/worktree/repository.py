"""Finds the repository of a directory, and refuses what cannot be a baseline."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from overlaysync.errors import BaselineError, UsageError
from overlaysync.model.worktree import ObjectId, Repository
from overlaysync.worktree import port_record
from overlaysync.worktree.git import Git, Pending, decode, encode, failure
from overlaysync.worktree.objects import is_full_id


class Located(Struct, frozen=True):
    """Where git finds a repository from a directory, and what HEAD names there."""

    root: str
    git_directory: str  # of this worktree; a linked worktree has its own
    object_format: str
    shallow: bool
    head: ObjectId | None  # None: no commit yet
    reference: str | None  # the full name of HEAD's branch; None: it is detached


_WHETHER = ("--is-bare-repository", "--is-inside-git-dir", "--is-inside-work-tree", "--absolute-git-dir")
_WHERE = ("--show-toplevel", "--show-object-format", "--is-shallow-repository")
_HEAD = ("HEAD^{commit}", "--symbolic-full-name", "HEAD")
"""git answers in this order, and stops at what it cannot answer: at ``_WHERE`` where there is no checkout, at
``_HEAD`` where there is no commit."""

# What an unfinished operation leaves in the worktree's git directory: file, its name, how to end it.
# Order matters: a stopped rebase can hold a CHERRY_PICK_HEAD too.
_UNFINISHED = (
    ("rebase-apply/applying", "git am", "git am --continue' or 'git am --abort"),
    ("rebase-apply", "rebase", "git rebase --continue' or 'git rebase --abort"),
    ("rebase-merge", "rebase", "git rebase --continue' or 'git rebase --abort"),
    ("MERGE_HEAD", "merge", "git merge --continue' or 'git merge --abort"),
    ("CHERRY_PICK_HEAD", "cherry-pick", "git cherry-pick --continue' or 'git cherry-pick --abort"),
    ("REVERT_HEAD", "revert", "git revert --continue' or 'git revert --abort"),
    ("sequencer", "cherry-pick or revert of several commits", "git cherry-pick --quit"),
    ("BISECT_LOG", "bisect", "git bisect reset"),
)


def locate(directory: str) -> Located:
    """The repository whose checkout holds ``directory``.

    Raises:
        UsageError: not in a repository, in its git directory, bare, or checked out elsewhere.
        BaselineError: git refuses it (another user owns it).
    """
    git = Git(directory)
    answer = git.run("rev-parse", *_WHETHER, *_WHERE, *_HEAD, expected=(0, 128))
    lines = answer.text.removesuffix("\n").split("\n") if answer.text else []
    if len(lines) < len(_WHETHER):
        raise failure(directory, "rev-parse", answer.status, answer.messages)
    bare, inside_git, inside_checkout, git_directory = lines[: len(_WHETHER)]
    if inside_git == "true":
        raise UsageError(f"{directory!r} is inside a git directory", "run from inside the checkout")
    if bare == "true":
        raise UsageError(
            f"{directory!r} is a bare repository, it holds no files to compare",
            "run from inside a checkout of it; 'git worktree add' makes one",
        )
    if inside_checkout != "true":
        raise _checked_out_elsewhere(directory)
    if len(lines) < len(_WHETHER) + len(_WHERE):
        raise failure(directory, "rev-parse", answer.status, answer.messages)
    if len(lines) > len(_WHETHER) + len(_WHERE) + 2:
        raise _line_break(directory)
    root, object_format, shallow, *named = lines[len(_WHETHER) :]
    # core.worktree is under the control of the checkout: only the directory that holds .git is believed.
    if not os.path.lexists(encode(f"{root}/.git")):
        raise _checked_out_elsewhere(directory)
    if os.path.realpath(encode(directory)) != encode(root):
        there = Git(root).run("rev-parse", "--absolute-git-dir").text
        if there.removesuffix("\n") != git_directory:
            raise _checked_out_elsewhere(directory)
    head = ObjectId(named[0]) if named and is_full_id(named[0], object_format) else None
    reference = _reference(git, named[1:]) if head is not None else None
    return Located(root, git_directory, object_format, shallow == "true", head, reference)


def _reference(git: Git, named: list[str]) -> str | None:
    """The branch that git named; it names none where something else is called HEAD."""
    if named:
        return named[0] if named != ["HEAD"] else None
    return git.run("symbolic-ref", "--quiet", "HEAD", expected=(0, 1)).text.strip() or None


def _line_break(directory: str) -> UsageError:
    return UsageError(f"the path of the repository of {directory!r} holds a line break", "move the checkout")


def _checked_out_elsewhere(directory: str) -> UsageError:
    return UsageError(
        f"the repository of {directory!r} has its checkout in another place (core.worktree)",
        "run from inside a checkout that holds its own .git; 'git worktree add' makes one",
    )


def refuse_unfinished(located: Located) -> None:
    """Raises BaselineError where a merge, rebase or the like has stopped in the middle."""
    for leftover, operation, remedy in _UNFINISHED:
        if os.path.lexists(encode(f"{located.git_directory}/{leftover}")):
            raise BaselineError(
                f"a {operation} is in progress in {located.root!r}, so the worktree is no edit of HEAD alone",
                f"end it with '{remedy}', then run this again",
            )


def is_git_at_work(git_directory: str) -> bool:
    """Whether a git command is changing the index or HEAD just now; its lock files say so."""
    return any(os.path.lexists(encode(f"{git_directory}/{name}.lock")) for name in ("index", "HEAD"))


def refuse_unmerged(root: str, paths: tuple[str, ...]) -> None:
    """Raises BaselineError where the index holds unmerged entries."""
    if paths:
        names = ", ".join(repr(path) for path in paths[:3]) + (", …" if len(paths) > 3 else "")
        raise BaselineError(
            f"the index of {root!r} holds unmerged paths: {names}",
            "resolve them and 'git add' each, or 'git reset' them, then run this again",
        )


def head_commit(git: Git) -> ObjectId | None:
    """The commit that HEAD names now, or None."""
    answer = git.run("rev-parse", "--quiet", "--verify", "HEAD^{commit}", expected=(0, 1))
    return ObjectId(answer.text.strip()) if answer.status == 0 else None


def commit_of(located: Located) -> ObjectId:
    """The commit of HEAD when it was located. Raises BaselineError where there is none yet."""
    if located.head is None:
        raise BaselineError(
            f"the repository {located.root!r} has no commit at HEAD: nothing can have been built from it",
            "commit ('git commit'), or check a branch out that has commits ('git switch BRANCH')",
        )
    return located.head


def hooks_directory(directory: Path) -> Path:
    """Where git takes the hooks of a checkout from: ``core.hooksPath``, or ``hooks`` of the repository.

    Raises UsageError, BaselineError as ``locate`` does.
    """
    located = locate(decode(os.fsencode(directory.absolute())))
    git = Git(located.root)
    options = ("--show-scope", "-z", "--type=path", "--get-all")
    answer = git.run("config", *options, "core.hooksPath", expected=(0, 1)).text.split("\0")
    settings = [value for scope, value in zip(answer[::2], answer[1::2], strict=False) if scope != "command"]
    if settings:
        return Path(located.root, settings[-1])
    common = git.run("rev-parse", "--git-common-dir").text.removesuffix("\n")
    return Path(located.root, common, "hooks")


def worktrees(root: str) -> tuple[str, ...]:
    """The main worktree of a repository and the linked ones, those included whose directory is gone."""
    lines = Git(root).run("worktree", "list", "--porcelain").text.splitlines()
    return tuple(line.removeprefix("worktree ") for line in lines if line.startswith("worktree "))


def branch_commit(root: str, branch: str) -> ObjectId:
    """The commit of a local branch, or of a remote's (``origin/main``). Raises UsageError without one."""
    for place in ("refs/heads/", "refs/remotes/"):
        name = f"{place}{branch}^{{commit}}"
        answer = Git(root).run("rev-parse", "--quiet", "--verify", name, expected=(0, 1))
        if answer.status == 0:
            return ObjectId(answer.text.strip())
    raise UsageError(f"there is no branch {branch!r}", "list them: git branch --all")


def peel(git: Git, oid: str) -> ObjectId | None:
    """The commit that an object is or, as a tag, leads to; None where it is neither."""
    answer = git.run("rev-parse", "--quiet", "--verify", f"{oid}^{{commit}}", expected=(0, 1, 128))
    return ObjectId(answer.text.strip()) if answer.status == 0 else None


def begin_remotes(directory: str) -> Pending:
    """Have git list the remotes of the repository of a directory, which may turn out to be in none."""
    options = ("--null", "--local", "--get-regexp", r"^remote\..*\.url$")
    return Git(directory).begin("config", *options, expected=(0, 1))


def describe(located: Located, remotes: Pending) -> Repository:
    """Where the worktree comes from, for the record. Raises BaselineError without a commit."""
    return Repository(
        root=located.root,
        head=commit_of(located),
        branch=located.reference and located.reference.removeprefix("refs/heads/"),
        remote=_remote(remotes.answer().text),
        object_format=located.object_format,
        shallow=located.shallow,
        ported=port_record.load(located.git_directory),
        machine=os.uname().nodename,
    )


def _remote(configured: str) -> str | None:
    """Of the URLs that git lists, that of ``origin``, or of the only remote, without credentials."""
    urls: dict[str, str] = {}
    for record in configured.split("\0")[:-1]:
        key, _, url = record.partition("\n")
        urls.setdefault(key, url)
    chosen = urls.get("remote.origin.url", next(iter(urls.values())) if len(urls) == 1 else None)
    return chosen and without_credentials(chosen)


def without_credentials(url: str) -> str | None:
    """A remote's URL as it may be written down; None where what is a secret in it cannot be told.

    Of user names only ``git`` is kept, and that only where it is no login of HTTP.
    """
    if "::" in url.split("/", 1)[0]:  # a remote helper's own syntax
        return None
    if "://" not in url:
        user, separator, rest = url.partition("@")
        is_login = separator and "/" not in user and ":" in user + rest
        return rest if is_login and user != "git" else url
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    user, _, host = parts.netloc.rpartition("@")
    if not re.fullmatch(r"(\[[0-9a-fA-F:.%]+\]|[^:\[\]]*)(:\d*)?", host):
        return None  # an unescaped "/" in a password ends the host too early
    login = "git@" if user == "git" and parts.scheme not in ("http", "https") else ""
    return f"{parts.scheme}://{login}{host}{parts.path}"
