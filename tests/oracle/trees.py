"""A source tree at one state, in memory: from a directory, a commit, or a source release."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """A file, or (``link``) a symbolic link whose target is the content."""

    content: bytes
    executable: bool = False
    link: bool = False


Tree = Mapping[str, Entry]
"""Entries by their path below the top of the tree."""


def read_directory(top: Path) -> Tree:
    """All files below a directory but git's own."""
    entries = {}
    for folder, names, files in os.walk(top):
        names[:] = [name for name in names if name != ".git"]
        for name in files:
            path = Path(folder, name)
            entries[path.relative_to(top).as_posix()] = _read(path)
    return entries


def _read(path: Path) -> Entry:
    if path.is_symlink():
        return Entry(os.fsencode(os.readlink(path)), link=True)
    return Entry(path.read_bytes(), executable=bool(path.stat().st_mode & 0o100))


def read_commit(repository: Path, commit: str) -> Tree:
    """The tree of a commit; CalledProcessError where git does not give it."""
    command = ["git", "-C", str(repository), "archive", "--format=tar", commit]
    archive = subprocess.run(command, capture_output=True, check=True, timeout=120).stdout
    return _members(io.BytesIO(archive), strip=0)


def read_source_release(archive: Path) -> Tree:
    """The tree of a source release: what is below its one top folder."""
    return _members(io.BytesIO(archive.read_bytes()), strip=1)


def _members(archive: io.BytesIO, *, strip: int) -> Tree:
    entries = {}
    with tarfile.open(fileobj=archive) as members:
        for member in members:
            path = "/".join(member.name.split("/")[strip:])
            if member.issym():
                entries[path] = Entry(os.fsencode(member.linkname), link=True)
            elif (file := members.extractfile(member)) is not None:
                entries[path] = Entry(file.read(), executable=bool(member.mode & 0o100))
    return entries


def write_tree(tree: Tree, top: Path) -> None:
    """Make a directory hold the tree, and besides it only git's own."""
    top.mkdir(parents=True, exist_ok=True)
    for path in top.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for name, entry in tree.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if entry.link:
            path.symlink_to(os.fsdecode(entry.content))
        else:
            path.write_bytes(entry.content)
            path.chmod(0o755 if entry.executable else 0o644)


def digest(tree: Tree) -> str:
    """One name for the whole tree."""
    total = hashlib.sha256()
    for name, entry in sorted(tree.items()):
        content = hashlib.sha256(entry.content).hexdigest()
        total.update(f"{name}\0{entry.executable:d}{entry.link:d}\0{content}\n".encode())
    return total.hexdigest()


def with_paths_of(tree: Tree, other: Tree, paths: Iterable[str]) -> Tree:
    """The tree, but at these paths as the other one is: their entry there, or none."""
    mixed = dict(tree)
    for path in paths:
        if path in other:
            mixed[path] = other[path]
        else:
            mixed.pop(path, None)
    return mixed
