"""Baseline: evidence for the image commit, and its confirmation by content."""

from __future__ import annotations

from msgspec import Struct

from overlaysync.model.target import InstalledPath
from overlaysync.model.worktree import ObjectId, RepoPath, Sha256


class Evidence(Struct, frozen=True):
    """One place that names, or was asked for, the image commit.

    ``kind``: label, file, env, pep610 or given. ``value`` is what stands there (None: nothing).
    ``commit`` is set only when the value is a full object id; anything else is a hint and proves nothing.
    """

    kind: str
    name: str
    value: str | None = None
    commit: ObjectId | None = None


class Difference(Struct, frozen=True):
    """One installed file from a tracked source that is not the commit's blob.

    ``explained``: "overlay" (our manifest put it there), "generated" (configured), or None.
    """

    source: RepoPath
    destination: InstalledPath
    head_blob: ObjectId
    target_sha256: Sha256 | None
    record_sha256: Sha256 | None
    explained: str | None = None


class ContentCount(Struct, frozen=True):
    """Confirmation by content: installed files that come from tracked sources against the commit's blobs."""

    compared: int = 0
    equal: int = 0
    different: tuple[Difference, ...] = ()


class Baseline(Struct, frozen=True):
    """Image commit and HEAD with what speaks for them."""

    head: ObjectId
    image_commit: ObjectId | None
    evidence: tuple[Evidence, ...]
    content: ContentCount = ContentCount()
