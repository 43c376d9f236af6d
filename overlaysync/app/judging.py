"""The class of each change: judged on all cores, and kept in mind for the next look of a watch."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import structs

from overlaysync.agent.cores import in_parts
from overlaysync.app.judged_cache import judged_cache
from overlaysync.core.classify import classify, classify_set, needs_beginning, needs_content
from overlaysync.core.finding import in_development, judged_by
from overlaysync.errors import WorktreeChangedError
from overlaysync.model.classified import ClassifiedChange
from overlaysync.model.problem import Problem
from overlaysync.model.worktree import Change, Snapshot
from overlaysync.worktree.worktree import Worktree

WORTH_A_CORE = 25
"""So many changes take longer to judge than a process takes to start."""
Judge = Callable[[Sequence[Change]], list[ClassifiedChange | Problem]]


def classify_changes(
    snapshot: Snapshot, worktree: Worktree, not_built: Sequence[str], cache: Path | None = None
) -> tuple[tuple[ClassifiedChange, ...], list[Problem]]:
    """Classes of all changes, and the files that change while they are read.

    Contents are read one path at a time, and only where they are looked at. ``not_built``: patterns of what
    no build reads. ``cache``: the directory of caches.
    """
    patterns = tuple(not_built)
    broken = {problem.path for problem in snapshot.problems}
    known = judged_cache(cache, snapshot.repository.root, patterns)
    recalled = known.recall([change for change in snapshot.changes if change.path not in broken])
    judged: dict[Change, ClassifiedChange | Problem] = {**recalled}

    def judge(part: Sequence[Change]) -> list[ClassifiedChange | Problem]:
        return [
            classify(change, None, None, not_built=patterns)
            if change.path in broken
            else _judged(change, worktree, patterns)
            for change in part
        ]

    new = [change for change in snapshot.changes if change not in judged]
    judged.update(zip(new, _on_all_cores(new, judge, worktree), strict=True))
    found = [judged[change] for change in snapshot.changes]
    fresh = (item for item in map(judged.get, new) if isinstance(item, ClassifiedChange))
    known.keep(recalled, (item for item in fresh if _stays(item, broken)))
    classified = classify_set(
        [item for item in found if isinstance(item, ClassifiedChange)], snapshot.tree.keys()
    )
    return _as_told(classified, snapshot), [item for item in found if isinstance(item, Problem)]


def _on_all_cores(
    changes: Sequence[Change], judge: Judge, worktree: Worktree
) -> list[ClassifiedChange | Problem]:
    """The same, by children where there are many changes.

    What they may need is loaded before they are forked: of a module that another thread is loading at that
    moment, a child would wait for the end for ever.
    """
    if len(changes) < 2 * WORTH_A_CORE:
        return judge(changes)
    import configparser  # noqa: F401
    import pickle

    import packaging.requirements  # noqa: F401
    import pathspec  # noqa: F401

    parent = os.getpid()

    def judge_part(part: Sequence[Change]) -> list[ClassifiedChange | Problem]:
        try:
            return judge(part)
        finally:
            if os.getpid() != parent:
                worktree.end_git()  # this child's own

    return in_parts(changes, WORTH_A_CORE, judge_part, pickle)


def _judged(change: Change, worktree: Worktree, not_built: Sequence[str]) -> ClassifiedChange | Problem:
    try:
        before, after = _contents(change, worktree)
    except WorktreeChangedError as error:
        next_step = "let what writes it come to rest, then run the command again"
        return Problem("unstable-file", error.message, next_step, change.path)
    return classify(change, before, after, not_built=not_built)


def _contents(change: Change, worktree: Worktree) -> tuple[bytes | None, bytes | None]:
    """HEAD's content and the worktree's, as far as they tell the class: of data, how the latter begins."""
    if needs_content(change.path):
        head = change.head
        before = worktree.blob(head.oid) if head is not None and head.is_file else None
        return before, worktree.content(change) if change.content is not None else None
    if change.content is None or not needs_beginning(change.path):
        return None, None
    try:
        return None, next(worktree.stream(change), b"")
    except WorktreeChangedError:
        return None, None  # a file that is no part of the package may be written to; else its copy tells


def _stays(judged: ClassifiedChange, broken: set[str | None]) -> bool:
    """Whether it is so for these contents; what was not read to its end may be another by now."""
    return needs_content(judged.change.path) and judged.change.path not in broken


def _as_told(classified: tuple[ClassifiedChange, ...], snapshot: Snapshot) -> tuple[ClassifiedChange, ...]:
    """Of a port, the next steps lead to where the changes are made."""
    ported = snapshot.repository.ported
    if ported is None:
        return classified
    return tuple(
        structs.replace(
            item, problems=tuple(in_development(each, item.change, ported) for each in item.problems)
        )
        for item in classified
    )


def as_judged(classified: tuple[ClassifiedChange, ...], python: str | None) -> tuple[ClassifiedChange, ...]:
    """The same for a target: where its Python is of another version (None: unknown), that this one judged."""
    host = platform.python_version()
    if python is None or not any(item.problems for item in classified):
        return classified
    return tuple(
        structs.replace(item, problems=tuple(judged_by(each, host, python) for each in item.problems))
        for item in classified
    )
