"""Digests of a target's files are recalled for the very same files, and for nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from overlaysync.app.installed_cache import MAGIC, InstalledCache
from overlaysync.model.target import (
    FileKind,
    InstalledDirectory,
    InstalledFile,
    InstalledPath,
    Inventory,
    TargetIdentity,
)
from overlaysync.model.worktree import ObjectId, Sha256
from overlaysync.worktree.cache import KEPT, SETTLED_NS, save_cache

IDENTITY = TargetIdentity("docker", "dev", container_id="1" * 64)
INVENTORY = Inventory("/site", "x.dist-info", None, (), file_system="overlay")
FILE = InstalledFile(
    InstalledPath("pkg/a.py"),
    FileKind.FILE,
    sha256=Sha256("ab" * 32),
    blob=ObjectId("cd" * 20),
    stamp=(1, 2, 3, 10**18, 10**18, 0o100644),
)
TOUCHED = (1, 2, 3, 10**18, 10**18 + 1, 0o100644)
LATER = 10**18 + SETTLED_NS + 1


def cache(directory: Path | None, identity: TargetIdentity = IDENTITY) -> InstalledCache:
    return InstalledCache(directory, identity, "/site", "sha1")


def listed(file: InstalledFile = FILE, fingerprint: str = "1", *, told: bool = True) -> InstalledDirectory:
    """A directory of which the target told the status of its file alone, or nothing but the fingerprint."""
    files = (structs.replace(file, sha256=None, blob=None),) if told else None
    return InstalledDirectory("pkg", fingerprint, files)


def hash_all(
    known: InstalledCache, inventory: Inventory = INVENTORY, file: InstalledFile = FILE, began: int = LATER
) -> None:
    """A run that had the file hashed."""
    known.complete([listed(file)], inventory)
    known.remember([file], began)
    known.keep()
    known.save()


def recalled(
    known: InstalledCache, inventory: Inventory = INVENTORY, directory: InstalledDirectory | None = None
) -> InstalledFile:
    [file] = known.complete([directory or listed()], inventory)
    return file


def test_the_next_run_knows_what_was_hashed(tmp_path: Path) -> None:
    hash_all(cache(tmp_path))
    assert recalled(cache(tmp_path)) == FILE
    other = structs.replace(IDENTITY, container_id="2" * 64)
    assert recalled(cache(tmp_path, other)).sha256 is None


def test_of_an_unchanged_directory_no_file_needs_to_be_told(tmp_path: Path) -> None:
    hash_all(cache(tmp_path))
    known = cache(tmp_path)
    assert known.fingerprints() == {"pkg": "1"}
    assert recalled(known, directory=listed(told=False)) == FILE
    known.keep()
    known.save()
    assert recalled(cache(tmp_path), directory=listed(told=False)) == FILE


def test_in_a_changed_directory_files_that_stayed_are_known(tmp_path: Path) -> None:
    hash_all(cache(tmp_path))
    more = structs.replace(FILE, path=InstalledPath("pkg/b.py"), sha256=None, blob=None)
    both = InstalledDirectory("pkg", "2", (*(listed().files or ()), more))
    assert cache(tmp_path).complete([both], INVENTORY) == [FILE, more]
    known = cache(tmp_path)
    touched = structs.replace(FILE, stamp=TOUCHED)
    assert recalled(known, directory=listed(touched, "3")).sha256 is None
    known.keep()
    known.save()
    assert cache(tmp_path).fingerprints() == {"pkg": "3"}
    assert recalled(cache(tmp_path), directory=listed(touched, "3", told=False)).sha256 is None


def test_what_was_touched_just_before_is_hashed_again(tmp_path: Path) -> None:
    hash_all(cache(tmp_path), began=LATER - 1)
    assert recalled(cache(tmp_path), directory=listed(told=False)).sha256 is None


def test_what_changed_between_look_and_hash_is_hashed_again(tmp_path: Path) -> None:
    known = cache(tmp_path)
    known.complete([listed()], INVENTORY)
    known.remember([structs.replace(FILE, stamp=TOUCHED)], LATER)
    known.keep()
    known.save()
    assert recalled(cache(tmp_path)).sha256 is None


@pytest.mark.parametrize(
    "inventory",
    [
        structs.replace(INVENTORY, file_system="vfat"),
        structs.replace(INVENTORY, file_system=None),
        structs.replace(INVENTORY, mounts=("/site/pkg",)),
    ],
    ids=["of no such times", "unknown", "another below it"],
)
def test_a_file_system_that_may_not_tell_every_change(tmp_path: Path, inventory: Inventory) -> None:
    hash_all(cache(tmp_path), inventory)
    assert recalled(cache(tmp_path)).sha256 is None
    hash_all(cache(tmp_path))
    for told in (False, True):
        assert recalled(cache(tmp_path), inventory, listed(told=told)).sha256 is None
        assert recalled(cache(tmp_path), directory=listed(told=told)) == FILE


@pytest.mark.parametrize("stamp", [(-1,) * 6, (1 << 80,) * 6, (0, -1, 0, 0, 0, 0)])
def test_numbers_that_no_file_has(tmp_path: Path, stamp: tuple[int, int, int, int, int, int]) -> None:
    hash_all(cache(tmp_path), file=structs.replace(FILE, stamp=stamp))
    hash_all(cache(tmp_path))
    assert recalled(cache(tmp_path)) == FILE


def test_a_name_that_is_not_utf_8_is_told_each_time(tmp_path: Path) -> None:
    hash_all(cache(tmp_path), file=structs.replace(FILE, path=InstalledPath("pkg/\udcff.py")))
    assert cache(tmp_path).fingerprints() == {}


@pytest.mark.parametrize("raw", [b"", b"overlaysync", None])
def test_a_damaged_cache_is_none(tmp_path: Path, raw: bytes | None) -> None:
    hash_all(cache(tmp_path))
    [file] = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"\0" if raw is None else raw)
    assert cache(tmp_path).fingerprints() == {}
    hash_all(cache(tmp_path))
    assert cache(tmp_path).fingerprints() == {"pkg": "1"}


@pytest.mark.parametrize("content", [{"pkg": ["1", [["no", "file"]]]}, {"elsewhere": ["1", [FILE]]}, 7])
def test_a_whole_cache_that_holds_something_else_is_none(tmp_path: Path, content: object) -> None:
    hash_all(cache(tmp_path))
    [file] = tmp_path.iterdir()
    save_cache(file, MAGIC, msgspec.msgpack.encode(content))
    assert cache(tmp_path).fingerprints() == {}


def test_the_oldest_targets_are_forgotten(tmp_path: Path) -> None:
    for number in range(KEPT + 2):
        hash_all(cache(tmp_path, structs.replace(IDENTITY, container_id=str(number))))
        for file in tmp_path.iterdir():
            os.utime(file, ns=(0, file.stat().st_mtime_ns - 10**9))
    assert len(list(tmp_path.iterdir())) == KEPT
    assert recalled(cache(tmp_path, structs.replace(IDENTITY, container_id="0"))) != FILE
