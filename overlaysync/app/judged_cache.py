"""What changes were judged to be, kept on this host: a change names both its contents by their digests.

On a branch of hundreds of changed files all but the one that is edited are as they were.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from overlaysync import core, model
from overlaysync.app.own_code import mark
from overlaysync.core.path_kind import PathKind, path_kind
from overlaysync.model.classified import ClassifiedChange
from overlaysync.model.worktree import Change
from overlaysync.worktree.cache import cache_file, load_cache, save_cache

KIND = "judged"
MAGIC = b"overlaysync judged changes 1\n"


def _judge() -> str | None:
    """The state of the code that judges; None where it cannot be told."""
    try:
        return mark((core, model))
    except OSError:
        return None


JUDGE = _judge()
"""As it was loaded: the files may be another version's by the time of the first look."""
WORTH_KEEPING = 10
"""Fewer changes than these are judged in less time than a file takes to be written."""


class JudgedCache:
    """The classes of what was judged last. ``file``: where they are kept; None: in memory alone."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._known: Mapping[Change, ClassifiedChange] | None = None
        self._kept: Mapping[Change, ClassifiedChange] = {}  # of it, what may be in the file

    def recall(self, changes: Sequence[Change]) -> dict[Change, ClassifiedChange]:
        """Those of the changes whose class is known."""
        if self._known is None:
            is_worth_it = len(changes) >= WORTH_KEEPING
            self._known = self._kept = _load(self._file) if self._file is not None and is_worth_it else {}
        known = self._known
        return {change: judged for change in changes if (judged := known.get(change)) is not None}

    def keep(self, recalled: Mapping[Change, ClassifiedChange], new: Iterable[ClassifiedChange]) -> None:
        """What is known from now on: what was recalled, and what was judged."""
        sure = {item.change: item for item in new if not _is_unsure(item)}
        self._known = {**recalled, **sure}
        kept = {change: item for change, item in self._kept.items() if change in recalled}
        kept |= {change: item for change, item in sure.items() if _may_be_kept(item)}
        is_news = len(kept) >= WORTH_KEEPING and kept != self._kept
        if self._file is not None and is_news and _judge() == JUDGE:
            save_cache(self._file, MAGIC, msgspec.msgpack.encode(list(kept.values())))
        self._kept = kept


@functools.lru_cache(maxsize=64)
def judged_cache(directory: Path | None, root: str, not_built: tuple[str, ...]) -> JudgedCache:
    """That of a worktree, and of patterns of what no build reads; the same one at each look of a watch."""
    if directory is None or JUDGE is None:
        return JudgedCache(None)
    parser = [sys.version, getattr(sys, "get_int_max_str_digits", int)()]
    return JudgedCache(cache_file(directory, KIND, json.dumps([root, not_built, parser, JUDGE])))


def _is_unsure(judged: ClassifiedChange) -> bool:
    """A parser that had too little memory, or stack, may have more the next time."""
    return any(problem.code == "syntax-error" for problem in judged.problems)


def _may_be_kept(judged: ClassifiedChange) -> bool:
    """What our code and Python's alone have judged, by a name that can be written."""
    path = judged.change.path
    return path.isascii() and path_kind(path) is PathKind.PYTHON


def _load(file: Path) -> dict[Change, ClassifiedChange]:
    try:
        kept = msgspec.msgpack.decode(load_cache(file, MAGIC), type=tuple[ClassifiedChange, ...])
    except msgspec.MsgspecError:
        return {}
    return {item.change: item for item in kept}
