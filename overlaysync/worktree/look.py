"""One look at one repository: what HEAD holds, what is on disk, and the same for each submodule in it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from overlaysync.errors import BaselineError, OverlaysyncError
from overlaysync.model.problem import Problem
from overlaysync.model.worktree import Change, ChangeKind, ObjectId, RepoPath, TreeEntry
from overlaysync.worktree.attributes import filtered
from overlaysync.worktree.cache import StatCache
from overlaysync.worktree.comparison import Comparison
from overlaysync.worktree.files import Folders
from overlaysync.worktree.git import Answer, Git, Pending
from overlaysync.worktree.letter_case import collisions
from overlaysync.worktree.listing import LISTINGS, Index, parse_index, parse_paths, parse_tree
from overlaysync.worktree.objects import Objects
from overlaysync.worktree.repository import commit_of, locate

_NAMED = 3
"""How many dirty paths of a submodule are named."""


class Subject(Struct, frozen=True):
    """A repository to look at. ``prefix`` is its place in the outermost one, empty or ending with ``/``."""

    git: Git
    objects: Objects
    object_format: str
    commit: ObjectId
    cache: StatCache
    prefix: str = ""


class Look(Struct, frozen=True):
    """What was seen."""

    tree: Mapping[RepoPath, TreeEntry]
    index: Index
    changes: tuple[Change, ...]
    mode_only: tuple[RepoPath, ...]
    not_checked_out: tuple[RepoPath, ...]
    problems: tuple[Problem, ...]


@lru_cache(maxsize=LISTINGS)
def read_tree(repository: str, oid: str) -> Mapping[RepoPath, TreeEntry]:
    """The whole tree of a commit, or of a tree, by its full id, gitlinks included.

    Whoever asks again is given the same: what an id stands for never changes. Raises BaselineError.
    """
    return parse_tree(Git(repository).run("ls-tree", "-r", "-z", "--full-tree", oid).output)


class Listings(Struct, frozen=True):
    """What git lists while Python does something else: the index, and the files that are not in it."""

    index: Pending
    others: Pending


def begin_listings(git: Git) -> Listings:
    """At the root of a repository's checkout."""
    return Listings(
        git.begin("ls-files", "-v", "--stage", "-z"),
        git.begin("ls-files", "--others", "--exclude-standard", "-z"),
    )


def look(subject: Subject, listings: Listings) -> Look:
    """Compare the repository's files with its commit.

    Raises:
        BaselineError: git refuses, or an object is missing.
    """
    git = subject.git
    tree = read_tree(git.directory, subject.commit)
    index = parse_index(listings.index.answer().output)
    with Folders(git.directory) as folders:
        comparison = Comparison(
            folders, subject.objects, subject.object_format, subject.cache, subject.prefix, index.gitlinks
        )
        comparison.tracked(tree, index.skip_worktree)
        others = listings.others.answer()
        comparison.new(_new_paths(tree, index, others))
    problems = [*comparison.problems, *_unlisted(others), *_nested(others)]
    changes = comparison.changes
    for path, entry in comparison.submodules:
        try:
            changes += _submodule(subject, path, entry)
        except OverlaysyncError as error:
            problems.append(_unreadable_submodule(path, error))
    problems += filtered(git, changes, comparison.pointers)
    problems += collisions(tree, changes)
    return Look(
        tree,
        index,
        tuple(sorted(changes, key=lambda change: change.path)),
        tuple(sorted(comparison.mode_only)),
        tuple(comparison.not_checked_out),
        tuple(problems),
    )


def _new_paths(tree: Mapping[RepoPath, TreeEntry], index: Index, others: Answer) -> list[RepoPath]:
    """Paths that HEAD does not have. What ends with ``/`` is a nested repository, not ours."""
    untracked = (path for path in parse_paths(others.output) if not path.endswith("/"))
    return sorted({*index.paths, *untracked} - tree.keys())


def _nested(others: Answer) -> list[Problem]:
    """Repositories in the worktree that are no submodules: git lists only their place, with a slash."""
    return [
        Problem(
            "submodule-change",
            f"{path} is a repository of its own, so nothing of it is read",
            "add it as a submodule and commit it, or move it out of the package",
            path + ".git",
        )
        for path in parse_paths(others.output)
        if path.endswith("/")
    ]


def _unlisted(others: Answer) -> list[Problem]:
    """git only warns of a directory that it cannot list, though new files may be in it."""
    return [
        Problem(
            "unreadable-file",
            f"git could not look for new files everywhere: {line}",
            "make the directory readable for you, or have an ignore rule name it, then run this again",
        )
        for line in others.messages.splitlines()
        if "could not open directory" in line
    ]


def _submodule(outer: Subject, path: RepoPath, entry: TreeEntry) -> list[Change]:
    """A change where the submodule is not at its gitlink, or is not clean."""
    root = f"{outer.git.directory}/{path}"
    located = locate(root)
    if located.root != root:
        raise BaselineError("it has no repository of its own")
    git = Git(root)
    objects = Objects(git, located.object_format)
    cache = outer.cache if located.object_format == outer.object_format else StatCache(None, 0)
    head = commit_of(located)
    try:
        subject = Subject(git, objects, located.object_format, head, cache, f"{outer.prefix}{path}/")
        seen = look(subject, begin_listings(git))
    finally:
        objects.close()
    dirty = sorted(
        {change.path for change in seen.changes}
        | {problem.path or "(not listed)" for problem in seen.problems}
        | set(seen.index.unmerged)
    )
    if head == entry.oid and not dirty:
        return []
    note = f"gitlink {entry.oid}, HEAD of the submodule {head}"
    if dirty:
        note += f", changed in it: {', '.join(map(repr, dirty[:_NAMED]))}"
        note += f" and {len(dirty) - _NAMED} more" if len(dirty) > _NAMED else ""
    return [Change(path, ChangeKind.MODIFIED, head=entry, note=note)]


def _unreadable_submodule(path: RepoPath, error: OverlaysyncError) -> Problem:
    return Problem(
        "unreadable-file",
        f"the submodule {path!r} cannot be compared: {error.message}",
        error.next_step or f"see what this says: git -C {shlex.quote(path)} status",
        path,
    )
