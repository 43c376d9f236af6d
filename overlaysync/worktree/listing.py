"""Reads git's NUL separated listings. Paths are bytes on disk, so nothing is ever split at line ends."""

from __future__ import annotations

import stat
from functools import lru_cache

from msgspec import Struct

from overlaysync.model.worktree import (
    MODE_EXECUTABLE,
    MODE_FILE,
    MODE_LINK,
    MODE_SUBMODULE,
    ObjectId,
    RepoPath,
    TreeEntry,
)
from overlaysync.worktree.git import decode

_GITLINK = "160000 "
LISTINGS = 4
"""Listings that are remembered: a watch is told the same ones at each save."""


@lru_cache(maxsize=16)
def _mode(digits: str) -> int:
    """One of git's four modes; trees by old versions or by hand hold others (git's ``canon_mode``)."""
    mode = int(digits, 8)
    if stat.S_ISREG(mode):
        return MODE_EXECUTABLE if mode & stat.S_IXUSR else MODE_FILE
    return MODE_LINK if stat.S_ISLNK(mode) else MODE_SUBMODULE


class Index(Struct, frozen=True):
    """What the index says besides content: its paths, and the flags that hide edits from git itself.

    ``gitlinks``: the commits of submodules, which only the index tells where they are not checked out.
    """

    paths: set[RepoPath]
    gitlinks: dict[RepoPath, ObjectId]
    unmerged: tuple[RepoPath, ...]
    skip_worktree: frozenset[RepoPath]
    assume_unchanged: frozenset[RepoPath]


def records(output: bytes) -> list[str]:
    """The records of a ``-z`` listing."""
    return decode(output).split("\0")[:-1]


def parse_tree(output: bytes) -> dict[RepoPath, TreeEntry]:
    """Entries of ``git ls-tree -r -z`` by path, in tree order (a directory's files are together)."""
    entries = [record.partition("\t") for record in records(output)]  # "<mode> <type> <id>", tab, path
    return {
        RepoPath(path): TreeEntry(_mode(entry[:6]), ObjectId(entry.rpartition(" ")[2]))
        for entry, _, path in entries
    }


@lru_cache(maxsize=LISTINGS)
def parse_index(output: bytes) -> Index:
    """Paths and flags of ``git ls-files -z -v --stage``: ``<tag> <mode> <id> <stage>TAB<path>``.

    The tag is ``H`` for a plain entry, ``S`` for skip-worktree and ``M`` for unmerged, and lower-case for
    assume-unchanged (git-ls-files, options -t and -v). An unmerged path comes once for each of its stages.
    """
    entries = records(output)
    few = [item.partition("\t") for item in entries if item[0] != "H" or item[2:9] == _GITLINK]
    flagged = [(entry[0], RepoPath(path)) for entry, _, path in few if entry[0] != "H"]
    return Index(
        paths={RepoPath(item[item.index("\t") + 1 :]) for item in entries},
        gitlinks={
            RepoPath(path): ObjectId(entry.split(" ")[2]) for entry, _, path in few if entry[2:9] == _GITLINK
        },
        unmerged=tuple(dict.fromkeys(path for tag, path in flagged if tag in "Mm")),
        skip_worktree=frozenset(path for tag, path in flagged if tag in "Ss"),
        assume_unchanged=frozenset(path for tag, path in flagged if tag.islower()),
    )


def parse_paths(output: bytes) -> list[RepoPath]:
    """Paths of ``git ls-files -z``; a nested repository or a directory as a whole ends with ``/``."""
    return [RepoPath(record) for record in records(output)]


def parse_attributes(output: bytes) -> dict[RepoPath, dict[str, str]]:
    """Values of ``git check-attr -z`` by path and attribute."""
    attributes: dict[RepoPath, dict[str, str]] = {}
    fields = iter(records(output))
    for path, name, value in zip(fields, fields, fields, strict=True):
        attributes.setdefault(RepoPath(path), {})[name] = value
    return attributes


def parse_ignore_rules(output: bytes) -> dict[RepoPath, str]:
    """Rules of ``git check-ignore -v -z`` by path, each ``<file>:<line>:<pattern>``."""
    rules: dict[RepoPath, str] = {}
    fields = iter(records(output))
    for source, line, pattern, path in zip(fields, fields, fields, fields, strict=True):
        rules[RepoPath(path)] = f"{source}:{line}:{pattern}"
    return rules
