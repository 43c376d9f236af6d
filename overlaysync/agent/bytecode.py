"""Bytecode: every file that an interpreter could accept for a source (PEP 3147, PEP 488, PEP 552)."""

from __future__ import annotations

import os

from overlaysync.agent.tree import Tree, join, split

CACHE = b"__pycache__"


def beside(tree: Tree, path: bytes) -> list[bytes]:
    """Bytecode files of the source ``path`` in the tree: all tags and levels, and the legacy place.

    Every file of the stem counts, whichever interpreter wrote it and however it is validated: an
    unchecked-hash file is trusted for ever, a timestamp one when size and whole second agree.
    """
    directory, name = split(path)
    if not name.endswith(b".py"):
        return []
    stem = name[:-3]
    legacy = (stem + b".pyc", stem + b".pyo")
    found = _of_stem(tree, join(directory, CACHE), stem)
    found.extend(join(directory, other) for other in tree.names(directory) if other in legacy)
    return found


def _of_stem(tree: Tree, directory: bytes, stem: bytes) -> list[bytes]:
    return [
        join(directory, other)
        for other in tree.names(directory)
        if other.startswith(stem + b".") and other.endswith((b".pyc", b".pyo"))
    ]


def drop_empty_cache(tree: Tree, directory: bytes) -> None:
    """Removes the ``__pycache__`` of a directory when nothing is in it."""
    cache = join(directory, CACHE)
    if tree.is_directory(cache) and not tree.names(cache):
        tree.remove_directory(cache)


def drop_prefixed(prefix: bytes, roots: list[bytes], paths: list[bytes]) -> dict[bytes, list[bytes]]:
    """Removes bytecode of ``paths`` below a ``PYTHONPYCACHEPREFIX``; absolute paths removed, by source.

    The prefix mirrors the sources' absolute paths, spelled as the search path spells them: ``roots`` are the
    spellings of the install root. What lies there is nobody's but the interpreter's, and is not kept.
    """
    removed: dict[bytes, list[bytes]] = {}
    if not os.path.isdir(prefix):
        return removed
    tree = Tree(os.path.realpath(prefix))
    try:
        for path in paths:
            directory, name = split(path)
            for root in roots if name.endswith(b".py") else ():
                mirrored = os.path.normpath(os.path.join(root, directory)).strip(b"/")
                for item in _of_stem(tree, mirrored, name[:-3]):
                    tree.remove(item)
                    removed.setdefault(path, []).append(os.path.join(prefix, item))
    finally:
        tree.close()
    return removed
