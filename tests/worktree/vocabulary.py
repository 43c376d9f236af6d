"""Short forms of what a snapshot says, so that tests compare them as text."""

from __future__ import annotations

from overlaysync.model.worktree import Change, Snapshot


def changed(snapshot: Snapshot) -> list[str]:
    """Each change as "kind path"."""
    return [f"{change.kind.value} {change.path}" for change in snapshot.changes]


def explained(snapshot: Snapshot) -> list[str]:
    """Each change as "kind path: note"."""
    return [f"{change.kind.value} {change.path}: {change.note}" for change in snapshot.changes]


def refused(snapshot: Snapshot) -> list[str]:
    """Each problem as "code path"."""
    return [f"{problem.code} {problem.path}" for problem in snapshot.problems]


def only_change(snapshot: Snapshot) -> Change:
    """The one change there is."""
    (change,) = snapshot.changes
    return change
