"""Bytecode: every file that an interpreter could accept for a source (PEP 3147, PEP 488, PEP 552)."""

from __future__ import annotations

import os
import stat

from overlaysync.agent.failure import reason
from overlaysync.agent.tree import Tree, join, split

CACHE = b"__pycache__"
TIMESTAMP, CHECKED, UNCHECKED, UNKNOWN = "timestamp", "checked-hash", "unchecked-hash", "unknown"
FLAGGED = range(3392, 20121)  # magic numbers of CPython that have PEP 552's word of flags: 3.7 and newer


def beside(tree: Tree, path: bytes) -> list[bytes]:
    """Bytecode files of the source ``path`` in the tree: all tags and levels, and the legacy place.

    Every file of the stem counts, whichever interpreter wrote it and however it is validated: an
    unchecked-hash file is trusted for ever, a timestamp one when size and whole second agree.
    """
    directory, name = split(path)
    if not name.endswith(b".py"):
        return []
    stem = name[:-3]
    legacy = (join(directory, stem + suffix) for suffix in (b".pyc", b".pyo"))
    return [*_of_stem(tree, join(directory, CACHE), stem), *filter(tree.holds, legacy)]


def _of_stem(tree: Tree, directory: bytes, stem: bytes) -> list[bytes]:
    return [
        join(directory, other)
        for other in tree.names(directory, stem + b".")
        if other.endswith((b".pyc", b".pyo"))
    ]


def linked_cache(tree: Tree, path: bytes) -> bool:
    """Whether the bytecode of a source lies behind a link: followed by Python, and never by us."""
    directory, name = split(path)
    return name.endswith(b".py") and is_linked(tree, directory)


def is_linked(tree: Tree, directory: bytes) -> bool:
    """Whether the ``__pycache__`` of a directory is a link."""
    status = tree.status(join(directory, CACHE))
    return status is not None and stat.S_ISLNK(status.st_mode)


def validation(tree: Tree, path: bytes) -> str:
    """How an interpreter judges whether a bytecode file is still its source's, by its word of flags."""
    try:
        file = tree.open(path)
    except OSError:
        return UNKNOWN
    with os.fdopen(file, "rb") as stream:
        head = stream.read(8)
    magic, flags = int.from_bytes(head[:2], "little"), int.from_bytes(head[4:], "little")
    if len(head) < 8 or head[2:4] != b"\r\n" or magic not in FLAGGED or flags & ~0b11:
        return UNKNOWN
    if not flags & 0b01:
        return TIMESTAMP
    return CHECKED if flags & 0b10 else UNCHECKED


def drop_empty_cache(tree: Tree, directory: bytes) -> None:
    """Removes the ``__pycache__`` of a directory when nothing is in it."""
    cache = join(directory, CACHE)
    if tree.is_directory(cache) and not tree.names(cache):
        tree.remove_directory(cache)


def drop_prefixed(prefix: bytes, roots: list[bytes], paths: list[bytes]) -> dict[bytes, dict[bytes, str]]:
    """Removes bytecode of ``paths`` below a ``PYTHONPYCACHEPREFIX``.

    Of each source, the absolute paths removed, and how they were validated.

    The prefix mirrors the sources' absolute paths, spelled as the search path spells them: ``roots`` are the
    spellings of the install root. What lies there is nobody's but the interpreter's, and is not kept.
    """
    removed: dict[bytes, dict[bytes, str]] = {}
    if not _is_directory(prefix):
        return removed
    tree = Tree(os.path.realpath(prefix))
    try:
        for path in paths:
            directory, name = split(path)
            for root in roots if name.endswith(b".py") else ():
                mirrored = os.path.normpath(os.path.join(root, directory)).strip(b"/")
                for item in _of_stem(tree, mirrored, name[:-3]):
                    removed.setdefault(path, {})[os.path.join(prefix, item)] = validation(tree, item)
                    tree.remove(item)
    finally:
        tree.close()
    return removed


def _is_directory(prefix: bytes) -> bool:
    """Raises OSError where that cannot be seen: what lies there might be accepted for an old source."""
    try:
        return stat.S_ISDIR(os.stat(prefix).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        told = "bytecode below %s cannot be looked for: %s" % (os.fsdecode(prefix), reason(error))
        raise OSError(error.errno, told)
