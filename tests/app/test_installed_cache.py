"""Digests of a target's files are recalled for the very same files, and for nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec import structs

from overlaysync.app.installed_cache import KEPT, InstalledCache
from overlaysync.model.target import FileKind, InstalledFile, InstalledPath, Inventory, TargetIdentity
from overlaysync.model.worktree import ObjectId, Sha256
from overlaysync.worktree.cache import SETTLED_NS

IDENTITY = TargetIdentity("docker", "dev", container_id="1" * 64)
INVENTORY = Inventory("/site", "x.dist-info", None, (), file_system="overlay")
FILE = InstalledFile(
    InstalledPath("pkg/a.py"),
    FileKind.FILE,
    sha256=Sha256("ab" * 32),
    blob=ObjectId("cd" * 20),
    stamp=(1, 2, 3, 10**18, 10**18, 0o100644),
)
LATER = 10**18 + SETTLED_NS + 1


def cache(directory: Path | None, identity: TargetIdentity = IDENTITY) -> InstalledCache:
    return InstalledCache(directory, identity, "/site", "sha1")


def recalled(
    known: InstalledCache, inventory: Inventory = INVENTORY, file: InstalledFile = FILE
) -> InstalledFile:
    """A file of which the target told the status alone."""
    told = structs.replace(file, sha256=None, blob=None)
    return known.recall(structs.replace(inventory, files=(told,)))[file.path]


def test_the_next_run_knows_what_was_hashed(tmp_path: Path) -> None:
    first = cache(tmp_path)
    first.remember(INVENTORY, [FILE], LATER)
    first.save()
    assert recalled(cache(tmp_path)) == FILE
    other = structs.replace(IDENTITY, container_id="2" * 64)
    assert recalled(cache(tmp_path, other)).sha256 is None


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
    known = cache(tmp_path)
    known.remember(inventory, [FILE], LATER)
    known.save()
    assert recalled(known, inventory).sha256 is None
    known.remember(INVENTORY, [FILE], LATER)
    known.save()
    assert recalled(known, inventory).sha256 is None
    assert recalled(known) == FILE


@pytest.mark.parametrize("stamp", [(-1,) * 6, (1 << 80,) * 6, (0, -1, 0, 0, 0, 0)])
def test_numbers_that_no_file_has_are_not_known(
    tmp_path: Path, stamp: tuple[int, int, int, int, int, int]
) -> None:
    known, file = cache(tmp_path), structs.replace(FILE, stamp=stamp)
    known.remember(INVENTORY, [file], 1 << 90)
    known.save()
    assert recalled(known, file=file).sha256 is None


def test_the_oldest_targets_are_forgotten(tmp_path: Path) -> None:
    for number in range(KEPT + 2):
        known = cache(tmp_path, structs.replace(IDENTITY, container_id=str(number)))
        known.remember(INVENTORY, [FILE], LATER)
        known.save()
        for file in tmp_path.iterdir():
            os.utime(file, ns=(0, file.stat().st_mtime_ns - 10**9))
    assert len(list(tmp_path.iterdir())) == KEPT
    assert recalled(cache(tmp_path, structs.replace(IDENTITY, container_id="0"))) != FILE
