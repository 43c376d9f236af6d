"""Whose overlay a target holds."""

from __future__ import annotations

from overlaysync.model.manifest import Manifest
from overlaysync.model.worktree import Repository


def other_origin(manifest: Manifest, repository: Repository) -> str | None:
    """The worktree that an overlay was pushed from, and its branch; None where it is this very one."""
    theirs = manifest.repository
    if _root(theirs) == _root(repository):
        return None
    return f"{_root(theirs)} ({theirs.branch})" if theirs.branch else _root(theirs)


def _root(repository: Repository) -> str:
    """Where people edit: of a carried state, the development's worktree."""
    return repository.root if repository.ported is None else repository.ported.root
