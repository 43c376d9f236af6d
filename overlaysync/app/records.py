"""Sync manifests: read from the target, made of what was done, kept on the host."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

from msgspec import Struct

from overlaysync import __version__
from overlaysync.app.contact import Contact
from overlaysync.app.read_back import ReadBack
from overlaysync.core.ownership import outside_distribution
from overlaysync.core.planning import directories_of
from overlaysync.errors import OverlayDamagedError
from overlaysync.model.evidence import Baseline
from overlaysync.model.manifest import (
    Acknowledgement,
    FileRecord,
    InstalledDistribution,
    InterpreterRecord,
    Manifest,
    WorkloadRecord,
)
from overlaysync.model.plan import Placement, Plan
from overlaysync.model.problem import Problem
from overlaysync.model.target import (
    Applied,
    FileKind,
    InstalledFile,
    InstalledPath,
    Inventory,
    Validation,
)
from overlaysync.model.worktree import Change, RepoPath, Repository, Sha256
from overlaysync.state.manifest_text import ManifestDamagedError, decode, digest, encode, new_id


class Cause(Struct, frozen=True):
    """What a manifest tells beyond the transaction itself."""

    command: str
    repository: Repository
    diff_sha256: Sha256
    baseline: Baseline
    workload: WorkloadRecord
    acknowledged: tuple[Acknowledgement, ...] = ()
    not_packaged: tuple[RepoPath, ...] = ()
    packages: tuple[RepoPath, ...] = ()
    unshipped: tuple[RepoPath, ...] = ()
    left_out: tuple[Problem, ...] = ()


class Task(Struct, frozen=True):
    """One transaction to carry out: what, where, on top of what, and why.

    ``files``: the destinations as they are now. ``previous``: the manifest of the overlay that is there.
    ``last``: the record that the new one follows.
    """

    contact: Contact
    inventory: Inventory
    plan: Plan
    files: dict[InstalledPath, InstalledFile]
    cause: Cause
    previous: Manifest | None
    last: Manifest | None


def read_manifest(contact: Contact, inventory: Inventory) -> Manifest | None:
    """The target's own record of its overlay. Raises OverlayDamagedError."""
    if inventory.manifest is None:
        return None
    try:
        manifest = decode(inventory.manifest)
        if manifest.distribution.name != contact.name:
            raise ManifestDamagedError(f"it tells of {json.dumps(manifest.distribution.name[:80])}")
        foreign = outside_distribution((*overlay_of(manifest), *manifest.directories), inventory)
        if foreign is not None:
            raise ManifestDamagedError(f"{json.dumps(foreign[:80])} is no path of {contact.name}")
    except ManifestDamagedError as error:
        raise OverlayDamagedError(
            f"the overlay's record in the target cannot be used: {error}",
            "use the version of overlaysync that wrote it, or re-create the target from its image",
        ) from error
    return manifest


def overlay_of(manifest: Manifest | None) -> dict[InstalledPath, Placement]:
    return {item.destination: item for item in manifest.overlay} if manifest is not None else {}


def digest_of_diff(changes: Sequence[Change]) -> Sha256:
    """One digest for all that differs from HEAD: path, kind, mode and content of each change."""
    lines = [
        "\0".join(
            (
                change.path,
                change.kind.value,
                "x" if change.executable else "-",
                change.head.oid if change.head is not None else "-",
                change.content.sha256 if change.content is not None else (change.note or "-"),
            )
        )
        for change in changes
    ]
    return Sha256(hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest())


def new_manifest_id() -> str:
    return new_id(datetime.now(timezone.utc), os.urandom(8))


def make_manifest(
    identity: str, task: Task, proof: ReadBack, done: Applied, timings: dict[str, float]
) -> Manifest:
    """The record of one transaction, from what was planned, done and read back."""
    contact, inventory, cause, plan = task.contact, task.inventory, task.cause, task.plan
    interpreter, distribution, last = contact.interpreter, contact.distribution, task.last
    known = task.previous.directories if task.previous is not None else ()
    return Manifest(
        id=identity,
        tool=f"overlaysync {__version__}",
        time=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=cause.command,
        repository=cause.repository,
        diff_sha256=cause.diff_sha256,
        baseline=cause.baseline,
        target=contact.identity,
        interpreter=InterpreterRecord(
            path=interpreter.path,
            version=interpreter.version,
            prefix=interpreter.prefix,
            uid=interpreter.uid,
            cache_tag=interpreter.cache_tag,
            finders=interpreter.finders,
            user_site=interpreter.user_site,
            user_site_enabled=interpreter.user_site_enabled,
            no_user_site=interpreter.no_user_site,
        ),
        distribution=InstalledDistribution(
            name=contact.name,
            version=distribution.version,
            root=inventory.root,
            metadata=inventory.metadata,
            record_sha256=inventory.record_sha256,
        ),
        operations=plan.operations,
        overlay=plan.overlay,
        files=tuple(
            _file_record(file, task.files.get(file.path), done.dropped.get(file.path, {}))
            for file in proof.files
        ),
        directories=directories_of(plan, known, done.made),
        imports=proof.imports,
        workload=cause.workload,
        environment=interpreter.installed,
        companions=interpreter.companions,
        hooks=interpreter.hooks,
        acknowledged=cause.acknowledged,
        not_packaged=cause.not_packaged,
        packages=cause.packages,
        unshipped=cause.unshipped,
        left_out=cause.left_out,
        previous=last.id if last is not None else None,
        previous_sha256=digest(encode(last)) if last is not None else None,
        timings_ms=timings,
    )


def _file_record(
    file: InstalledFile, before: InstalledFile | None, dropped: Mapping[str, Validation]
) -> FileRecord:
    existed = before is not None and before.kind is FileKind.FILE
    return FileRecord(
        destination=file.path,
        sha256=file.sha256,
        size=file.size,
        mode=file.mode,
        uid=file.uid,
        gid=file.gid,
        previous_mode=before.mode if existed and before is not None else None,
        bytecode_dropped=tuple(dropped),
        bytecode_validation=dict(dropped),
    )
