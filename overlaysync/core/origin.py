"""Whose overlay a target holds."""

from __future__ import annotations

from overlaysync.model.manifest import Manifest
from overlaysync.model.worktree import Repository


def other_origin(manifest: Manifest, repository: Repository) -> str | None:
    """The worktree that an overlay was pushed from, and its branch; None where it is this very one.

    On another machine, another one may have the same path.
    """
    theirs = manifest.repository
    elsewhere = theirs.machine is not None and theirs.machine != repository.machine
    if root_of(theirs) == root_of(repository) and not elsewhere:
        return None
    place = f"{theirs.machine}:{root_of(theirs)}" if elsewhere else root_of(theirs)
    return f"{place} ({theirs.branch})" if theirs.branch else place


def root_of(repository: Repository) -> str:
    """Where people edit: of a carried state, the development's worktree."""
    return repository.root if repository.ported is None else repository.ported.root
