"""The sync manifests on the host: one file for each, one directory for each repository.

There is no lock here. Two runs exclude each other by the kernel's lock on the install root, which the agent
holds inside the target; what is written here is one new file each time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path, PurePath
from typing import NamedTuple

from overlaysync.errors import UsageError
from overlaysync.model.manifest import Manifest
from overlaysync.state import manifest_text
from overlaysync.state.manifest_text import MANIFEST_ID, MAXIMUM_SIZE, ManifestDamagedError

LATEST = "latest"
_SHORTEST_REFERENCE = 4
_CANDIDATES_SHOWN = 10
_HOW_TO_GET_ONE = "run overlaysync push first, or look at every repository's: overlaysync manifest list --all"


class DamagedFile(NamedTuple):
    """A record that cannot be read, and why."""

    file: Path
    reason: str


class Records(NamedTuple):
    """What is in a store, newest first; damaged files apart, so that one of them hides no other."""

    manifests: tuple[Manifest, ...]
    damaged: tuple[DamagedFile, ...]


Roots = Collection[str] | None
"""Worktrees whose records are meant; None for all."""


class ManifestStore:
    """The manifests below one directory: ``<repository>/<id>.json``."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def save(self, manifest: Manifest) -> Path:
        """Write one manifest, all of it or nothing; the file.

        Raises:
            UsageError: it cannot be written, or its id is no file name.
        """
        if not MANIFEST_ID.fullmatch(manifest.id):
            raise UsageError(f"{json.dumps(manifest.id)} is no id of a manifest", "report this as a bug")
        file = self._file_of(manifest)
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(file, manifest_text.encode(manifest).encode("ascii"))
        except OSError as error:
            raise UsageError(
                f"the manifest cannot be written: {error}",
                f"make room or permission in {self.directory}, or set XDG_STATE_HOME to another directory",
            ) from error
        return file

    def holds(self, manifest: Manifest) -> bool:
        """Whether it is there, and can be read; with this very text it can."""
        try:
            text = _text(self._file_of(manifest))
            return text == manifest_text.encode(manifest) or manifest_text.decode(text).id == manifest.id
        except ManifestDamagedError:
            return False

    def load(self, reference: str, roots: Roots = None) -> Manifest:
        """The manifest that a user names: ``find`` and ``read`` in one."""
        return self.read(self.find(reference, roots))

    def find(self, reference: str, roots: Roots = None) -> Path:
        """The file of the manifest that a user names.

        Args:
            reference: an id, at least four characters of its beginning or of its part after the dash,
                ``latest``, or the path of a manifest's file (with a ``/`` in it).
            roots: ``latest`` and parts of an id mean those of these worktrees; None for those of all.

        Raises:
            UsageError: there is none, or more than one.
        """
        if reference == LATEST:
            file = next(self._files(roots), None)
            if file is None:
                raise UsageError("there is no manifest yet", _HOW_TO_GET_ONE)
            return file
        return Path(reference) if "/" in reference else self._find(reference, roots)

    def names(self, roots: Roots) -> dict[str, str]:
        """By id, what stands for each record of these worktrees: the random part, where ``find`` takes it."""
        parts = {file.stem: _random_part(file.stem) for file in self._files(roots)}
        meant = {
            length: Counter(start for name in parts for start in {name[:length], parts[name][:length]})
            for length in {len(part) for part in parts.values()}
        }
        return {
            name: part if len(part) >= _SHORTEST_REFERENCE and meant[len(part)][part] == 1 else name
            for name, part in parts.items()
        }

    def read(self, file: Path) -> Manifest:
        """The manifest in a file. Raises UsageError where it is damaged."""
        try:
            return _read(file)
        except ManifestDamagedError as error:
            raise UsageError(
                f"the manifest {file} cannot be read: {error}",
                "use the version of overlaysync that wrote it, or choose another manifest",
            ) from error

    def before(self, manifest: Manifest, roots: Roots = None) -> Manifest:
        """The manifest before one in the same target: it names it; else the next older one of ``roots``.

        Raises:
            UsageError: there is none, or it is not here, or damaged.
        """
        alone = f"look at it alone: overlaysync manifest show {manifest.id}"
        if manifest.previous is not None:
            file = next((item for item in self._files(None) if item.stem == manifest.previous), None)
            if file is None:
                missing = f"the manifest before {manifest.id}, {manifest.previous}, is not on this host"
                raise UsageError(missing, alone)
            return self.read(file)
        older = (item for item in self.list(roots).manifests if item.id < manifest.id)
        found = next((item for item in older if _place(item) == _place(manifest)), None)
        if found is None:
            raise UsageError(f"there is no manifest before {manifest.id} in its target", alone)
        return found

    def list(self, roots: Roots = None) -> Records:
        """All manifests of some worktrees, or (None) of all."""
        manifests, damaged = [], []
        for file in self._files(roots):
            try:
                manifests.append(_read(file))
            except ManifestDamagedError as error:
                damaged.append(DamagedFile(file, str(error)))
        return Records(tuple(manifests), tuple(damaged))

    def latest(self, roots: Collection[str], target_name: str) -> Manifest | None:
        """The newest readable manifest of some worktrees in a target; the target's own record outranks it."""
        for file in self._files(roots):
            try:
                manifest = _read(file)
            except ManifestDamagedError:
                continue  # told by list; the next push replaces it as the newest
            if manifest.target.name == target_name:
                return manifest
        return None

    def _file_of(self, manifest: Manifest) -> Path:
        return self.directory / repository_key(manifest.repository.root) / f"{manifest.id}.json"

    def _files(self, roots: Roots) -> Iterator[Path]:
        """The records' files, newest first: ids sort by time."""
        folders = ["*"] if roots is None else sorted({repository_key(root) for root in roots})
        found = (file for folder in folders for file in self.directory.glob(f"{folder}/*.json"))
        records = (file for file in found if MANIFEST_ID.fullmatch(file.stem))
        yield from sorted(records, key=lambda file: file.stem, reverse=True)

    def _find(self, reference: str, roots: Roots) -> Path:
        whole = next((file for file in self._files(None) if file.stem == reference), None)
        if whole is not None:
            return whole
        files = {file.stem: file for file in self._files(roots)}
        found = [name for name in files if _refers(reference, name)]
        if len(reference) < _SHORTEST_REFERENCE:
            trouble, found = "is shorter than four characters", []
        elif len(found) == 1:
            return files[found[0]]
        else:
            trouble = "names more than one manifest" if found else "names no manifest"
        candidates = ", ".join((found or list(files))[:_CANDIDATES_SHOWN])
        raise UsageError(
            f"{json.dumps(reference)} {trouble}",
            f"name one of these: {candidates}" if candidates else _HOW_TO_GET_ONE,
        )


def _place(manifest: Manifest) -> tuple[str, str, str]:
    """What a chain of records is about."""
    return (manifest.target.kind, manifest.target.name, manifest.distribution.name)


def _refers(reference: str, name: str) -> bool:
    """Whether a reference is the beginning of an id or of its random part."""
    return name.startswith(reference) or _random_part(name).startswith(reference)


def _random_part(name: str) -> str:
    return name.rpartition("-")[2]


def repository_key(root: str) -> str:
    """The directory of a repository's manifests: its name, for people, and a digest of its whole path."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", PurePath(root).name)[:40].strip("-") or "root"
    return f"{name}-{hashlib.sha256(root.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def _read(file: Path) -> Manifest:
    """One file's manifest. Raises ManifestDamagedError."""
    return manifest_text.decode(_text(file))


def _text(file: Path) -> str:
    """What may be a manifest. Raises ManifestDamagedError."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise ManifestDamagedError("it is no regular file")
        with file.open("rb") as stream:
            return stream.read(MAXIMUM_SIZE + 1).decode("ascii")
    except OSError as error:
        raise ManifestDamagedError(error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise ManifestDamagedError("it is not ASCII") from error


def _write(file: Path, content: bytes) -> None:
    """Put a file in place for its owner alone, durably: a reader sees all of it or none."""
    import tempfile

    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".new")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    directory = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
