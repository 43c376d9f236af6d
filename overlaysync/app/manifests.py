"""``manifest``: the records of what was done, from this host's store."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import structs

from overlaysync.app.calling import find_root
from overlaysync.app.options import Options
from overlaysync.app.store import store
from overlaysync.core.manifest_difference import compare
from overlaysync.errors import OverlaysyncError
from overlaysync.model.manifest import Manifest
from overlaysync.model.result import Result
from overlaysync.worktree.repository import worktrees


def list_manifests(options: Options, *, everywhere: bool = False) -> Result:
    """The manifests of this repository (or of all), newest first."""
    kept, roots = store(options), _roots(options)
    records, names = kept.list(None if everywhere else roots), kept.names(roots)
    details: dict[str, Any] = {
        "manifests": [_summary(manifest, names) for manifest in records.manifests],
        "damaged": [f"{item.file}: {item.reason}" for item in records.damaged],
    }
    return _result("manifest list", details)


def show_manifest(options: Options, reference: str) -> Result:
    """One manifest, whole, and its file. Raises UsageError when there is no such one.

    ``reference``: "latest" and shortened ids are looked for among this repository's; a full id is found
    wherever it belongs to, and the path of a file is just that.
    """
    records = store(options)
    file = records.find(reference, _roots(options))
    details = {"manifest": msgspec.to_builtins(records.read(file))}
    return structs.replace(_result("manifest show", details), manifest=str(file))


def compare_manifests(options: Options, reference: str, other: str | None = None) -> Result:
    """What differs from the first to the second; of one alone, from the one before it in its target.

    The exit code is 0 either way. The same references as above.
    """
    records, roots = store(options), _roots(options)
    named = records.load(reference, roots)
    before, after = (
        (records.before(named, roots), named) if other is None else (named, records.load(other, roots))
    )
    difference, names = compare(before, after), records.names(roots)
    details = {
        "before": _summary(before, names),
        "after": _summary(after, names),
        "difference": msgspec.to_builtins(difference),
        "same": difference.same,
    }
    return _result("manifest diff", details)


def _roots(options: Options) -> tuple[str, ...]:
    """The worktree and those linked with it; outside of any repository the place itself."""
    root = str(find_root(options.worktree).resolve())
    with contextlib.suppress(OverlaysyncError):
        return tuple({root, *worktrees(root)})
    return (root,)


def _summary(manifest: Manifest, names: Mapping[str, str]) -> dict[str, Any]:
    """What tells one record from another. Of a carried state, root and branch are the development's.

    ``names``: of this repository's records; any other is named by its whole id.
    """
    repository = manifest.repository
    source = repository.ported or repository
    return {
        "id": manifest.id,
        "name": names.get(manifest.id, manifest.id),
        "time": manifest.time,
        "command": manifest.command,
        "target": manifest.target.specification,
        "container_id": manifest.target.container_id,
        "distribution": f"{manifest.distribution.name} {manifest.distribution.version}",
        "root": source.root,
        "branch": source.branch,
        "ported": repository.ported is not None,
        "head": manifest.baseline.head,
        "operations": len(manifest.operations),
        "overlay": len(manifest.overlay),
    }


def _result(command: str, details: dict[str, Any]) -> Result:
    return Result(command=command, outcome="unchanged", exit_code=0, details=details)
