"""A target's files, kept on this host: a second look is told, and hashes, only what was touched since.

What a push replaces is always hashed again, in the target, and so is what it wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from overlaysync.model.target import (
    InstalledDirectory,
    InstalledFile,
    InstalledPath,
    Inventory,
    TargetIdentity,
)
from overlaysync.worktree.cache import cache_file, is_settled, load_cache, save_cache

FILE_SYSTEMS = frozenset({"overlay", "ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "zfs", "f2fs"})
"""Of which a file's time of status change is known to tell every change of its content."""

KIND = "installed"
MAGIC = f"overlaysync installed files 1 {' '.join(InstalledFile.__struct_fields__)}\n".encode()


NO_FORMAT = (UnicodeEncodeError, OverflowError)
"""What names that are not UTF-8, and numbers of no file, come to."""


class Kept(Struct, frozen=True, array_like=True):
    """One directory, as it was looked at."""

    fingerprint: str
    files: tuple[InstalledFile, ...]


class InstalledCache:
    """Of one install root. ``directory``: where the cache is kept; None: nothing is."""

    def __init__(
        self, directory: Path | None, identity: TargetIdentity, root: str, object_format: str
    ) -> None:
        name = "\n".join((identity.kind, identity.itself, root, object_format))
        self._file = cache_file(directory, KIND, name) if directory else None
        self._kept = _load(self._file) if self._file else {}
        self._trusted, self._is_saved = False, True
        self._seen: dict[str, Kept] = {}  # as it was kept
        self._new: dict[str, tuple[str, dict[InstalledPath, InstalledFile]]] = {}  # with its fingerprint

    def fingerprints(self) -> dict[str, str]:
        return {path: kept.fingerprint for path, kept in self._kept.items()}

    def complete(self, listing: Sequence[InstalledDirectory], inventory: Inventory) -> list[InstalledFile]:
        trusted = _tells_changes(inventory)
        found: list[InstalledFile] = []
        self._seen, self._new = {}, {}
        for directory in listing:
            kept = self._kept.get(directory.path)
            known = kept.files if kept is not None else ()
            if directory.files is None and kept is not None:
                self._seen[directory.path] = kept
                found += known if trusted else map(_without_digests, known)
            else:
                hashed = {file.path: file for file in known if file.sha256 is not None and trusted}
                files = [_recalled(file, hashed.get(file.path)) for file in directory.files or ()]
                self._new[directory.path] = directory.fingerprint, {file.path: file for file in files}
                found += files
        self._trusted = trusted
        return found

    def remember(self, files: Iterable[InstalledFile], began: int) -> None:
        for file in files if self._trusted else ():
            directory = file.path.rpartition("/")[0]
            if (seen := self._seen.pop(directory, None)) is not None:
                self._new[directory] = seen.fingerprint, {item.path: item for item in seen.files}
            _, known = self._new.get(directory, ("", {}))
            before = known.get(file.path)
            if before is None or file.stamp is None or before.stamp != file.stamp:
                continue
            if is_settled(file.stamp, began):
                known[file.path] = structs.replace(before, sha256=file.sha256, blob=file.blob)

    def keep(self) -> None:
        """What was found is what the next look is compared with."""
        if self._new or self._seen != self._kept:
            new = {path: Kept(mark, tuple(files.values())) for path, (mark, files) in self._new.items()}
            known = {path: one for path, one in new.items() if _has_a_form(path, one)}
            self._kept, self._is_saved = {**self._seen, **known}, False

    def save(self) -> None:
        """Writes what is kept, if that is news; its size is that of the installation."""
        if self._file is None or self._is_saved:
            return
        save_cache(self._file, MAGIC, msgspec.msgpack.encode(self._kept))
        self._is_saved = True


def _has_a_form(path: str, kept: Kept) -> bool:
    try:
        msgspec.msgpack.encode((path, kept))
    except NO_FORMAT:
        return False
    return True


def _load(file: Path) -> dict[str, Kept]:
    try:
        kept = msgspec.msgpack.decode(load_cache(file, MAGIC), type=dict[str, Kept])
    except msgspec.MsgspecError:
        return {}
    places = ((directory, item.path) for directory, one in kept.items() for item in one.files)
    return kept if all(path.rpartition("/")[0] == directory for directory, path in places) else {}


def _recalled(file: InstalledFile, before: InstalledFile | None) -> InstalledFile:
    if before is None or file.stamp is None or before.stamp != file.stamp:
        return file
    return structs.replace(file, sha256=before.sha256, blob=before.blob)


def _without_digests(file: InstalledFile) -> InstalledFile:
    return structs.replace(file, sha256=None, blob=None)


def _tells_changes(inventory: Inventory) -> bool:
    """Whether all files lie on one file system whose times can be trusted."""
    below = [point for point in inventory.mounts if point != inventory.root]
    return inventory.file_system in FILE_SYSTEMS and not below
