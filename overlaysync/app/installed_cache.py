"""Digests of a target's files, kept on this host: a second look hashes only what was touched since.

What a push replaces is always hashed again, in the target, and so is what it wrote.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterable
from pathlib import Path

from msgspec import structs

from overlaysync.model.target import UNKNOWN, InstalledFile, InstalledPath, Inventory, TargetIdentity
from overlaysync.model.worktree import ObjectId, Sha256
from overlaysync.worktree.cache import StatCache, cache_file, digest_size

FILE_SYSTEMS = frozenset({"overlay", "ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "zfs", "f2fs"})
"""Of which a file's time of status change is known to tell every change of its content."""

SHA256 = 32  # bytes of a digest
KIND = "installed"
KEPT = 32
"""Targets that are remembered; containers come and go."""


class InstalledCache:
    """Of one install root. ``directory``: where the cache is kept; None: nothing is."""

    def __init__(
        self, directory: Path | None, identity: TargetIdentity, root: str, object_format: str
    ) -> None:
        place = identity.container_id if identity.container_id != UNKNOWN else identity.name
        name = "\n".join((identity.kind, place, root, object_format))
        size = SHA256 + digest_size(object_format)
        self._directory = directory
        self._cache = StatCache(cache_file(directory, KIND, name) if directory else None, size)

    def recall(self, inventory: Inventory) -> dict[InstalledPath, InstalledFile]:
        recall = self._recalled if _tells_changes(inventory) else (lambda file: file)
        return {file.path: recall(file) for file in inventory.files}

    def remember(self, inventory: Inventory, files: Iterable[InstalledFile], began: int) -> None:
        for file in files if _tells_changes(inventory) else ():
            if file.stamp is not None and file.sha256 and file.blob:
                with contextlib.suppress(struct.error, ValueError):
                    self._cache.remember(file.path, file.stamp, bytes.fromhex(file.sha256 + file.blob), began)

    def _recalled(self, file: InstalledFile) -> InstalledFile:
        known = None
        if file.stamp is not None:
            with contextlib.suppress(struct.error):  # numbers of no file, from a target that lies
                known = self._cache.recall(file.path, file.stamp)
        if known is None:
            return file
        sha256, blob = Sha256(known[:SHA256].hex()), ObjectId(known[SHA256:].hex())
        return structs.replace(file, sha256=sha256, blob=blob)

    def save(self) -> None:
        self._cache.save()
        if self._directory is not None:
            with contextlib.suppress(OSError):
                _forget_oldest(self._directory)


def _tells_changes(inventory: Inventory) -> bool:
    """Whether all files lie on one file system whose times can be trusted."""
    below = [point for point in inventory.mounts if point != inventory.root]
    return inventory.file_system in FILE_SYSTEMS and not below


def _forget_oldest(directory: Path) -> None:
    files = sorted(directory.glob(f"{KIND}-*"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[KEPT:]:
        file.unlink(missing_ok=True)
