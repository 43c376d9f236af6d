"""Where the host keeps its records."""

from __future__ import annotations

import contextlib
from pathlib import Path

from overlaysync.app.contact import Contact
from overlaysync.app.options import Options
from overlaysync.errors import UsageError
from overlaysync.model.manifest import Manifest
from overlaysync.state.directories import state_directory
from overlaysync.state.manifests import ManifestStore, repository_key


def store(options: Options) -> ManifestStore:
    """The store of manifests. Raises UsageError when its directory cannot be made."""
    return ManifestStore(options.records if options.records is not None else state_directory())


def usual_place(root: str) -> Path:
    """Where the state of a worktree is carried when nobody names a place; links resolved, as git tells it."""
    return state_directory().resolve() / "ports" / repository_key(root)


def last_record(
    options: Options, contact: Contact, manifest: Manifest | None, repository_root: str
) -> Manifest | None:
    """The record that a new one follows: the target's own, or after a revert the newest of this host.

    None too where this host cannot keep records, which hinders nothing (see ``report.applied``).
    """
    if manifest is not None:
        return manifest
    with contextlib.suppress(UsageError):
        return store(options).latest((repository_root,), contact.identity.name)
    return None


def adopt(options: Options, contact: Contact, manifest: Manifest | None, repository_root: str) -> None:
    """Keeps a copy of the target's record where this host lacks it: its writer was cut off, or another host.

    Only one of this worktree, by its path (where machines share a file system, it is the same one), and of
    the very target that it was read from: later commands go where records of this host say (``hook
    pre-push``), so no target may name another one, or an environment of this host.
    """
    if manifest is None or manifest.repository.root != repository_root:
        return
    there, here = manifest.target, contact.identity
    if (there.kind, there.name, there.container_id) != (here.kind, here.name, here.container_id):
        return
    with contextlib.suppress(UsageError):
        records = store(options)
        if not records.holds(manifest):
            records.save(manifest)
