"""Changed paths whose bytes in the checkout are not meant to be the blob's: filters and Git LFS."""

from __future__ import annotations

from collections.abc import Iterable

from overlaysync.model.problem import Problem
from overlaysync.model.worktree import Change, RepoPath
from overlaysync.worktree.git import Git, encode
from overlaysync.worktree.listing import parse_attributes

_NOT_GIVEN = ("unspecified", "unset", "set")
"""A filter or an encoding without a value does nothing (gitattributes)."""


def filtered(git: Git, changes: Iterable[Change], pointers: set[RepoPath]) -> list[Problem]:
    """A problem for each changed regular file with a converting attribute, or that Git LFS keeps.

    Attributes are only asked for; no filter is ever run. ``pointers``: paths with a pointer on either side.
    """
    paths = [change.path for change in changes if change.content or (change.head and change.head.is_file)]
    if not paths:
        return []
    given = b"".join(encode(path) + b"\0" for path in paths)
    names = ("filter", "ident", "working-tree-encoding")
    answer = git.run("check-attr", "-z", "--stdin", *names, given=given)
    attributes = parse_attributes(answer.output)
    found = (_problem(path, attributes.get(path, {}), path in pointers) for path in paths)
    return [problem for problem in found if problem is not None]


def _problem(path: RepoPath, attributes: dict[str, str], pointer: bool) -> Problem | None:
    conversion = _conversion(attributes)
    if pointer or conversion == "filter=lfs":
        return Problem(
            "lfs-pointer",
            f"{path!r} is kept by Git LFS: one side is a pointer text and not the data",
            "put the path back with 'git checkout', or rebuild the image with it",
            path,
        )
    if conversion:
        return Problem(
            "git-filter",
            f"{path!r} has the attribute {conversion}, so its checkout differs from its blob",
            "put the path back with 'git checkout', or rebuild the image with it",
            path,
        )
    return None


def _conversion(attributes: dict[str, str]) -> str | None:
    """The attribute that converts content; git itself takes an encoding of UTF-8 for none."""
    name = attributes.get("filter", "unset")
    encoding = attributes.get("working-tree-encoding", "unset")
    if name not in _NOT_GIVEN:
        return f"filter={name}"
    if attributes.get("ident") == "set":
        return "ident"
    if encoding not in _NOT_GIVEN and encoding.lower() not in ("utf-8", "utf8"):
        return f"working-tree-encoding={encoding}"
    return None
