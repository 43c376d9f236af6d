"""Bytecode: every file that an interpreter could accept for a source (PEP 3147, PEP 488, PEP 552)."""

import os

from overlaysync.agent.tree import join, split

CACHE = b"__pycache__"


def beside(tree, path):
    """Bytecode files of the source ``path`` in the tree: all tags and levels, and the legacy place.

    Every file of the stem counts, whichever interpreter wrote it and however it is validated: an
    unchecked-hash file is trusted for ever, a timestamp one when size and whole second agree.
    """
    directory, name = split(path)
    if not name.endswith(b".py"):
        return []
    stem = name[:-3]
    cache = join(directory, CACHE)
    found = [
        join(cache, other)
        for other in tree.names(cache)
        if other.startswith(stem + b".") and other.endswith((b".pyc", b".pyo"))
    ]
    legacy = (stem + b".pyc", stem + b".pyo")
    found.extend(join(directory, other) for other in tree.names(directory) if other in legacy)
    return found


def drop_prefixed(root, path, prefix):
    """Removes bytecode of ``path`` below a ``PYTHONPYCACHEPREFIX``; returns the absolute paths removed.

    The prefix directory mirrors absolute source paths; files there are caches of nobody's making but the
    interpreter's, and are not kept.
    """
    directory, name = split(path)
    if not name.endswith(b".py"):
        return []
    mirrored = os.path.join(prefix, root.lstrip(b"/"), directory)
    removed = []
    try:
        names = os.listdir(mirrored)
    except (FileNotFoundError, NotADirectoryError):
        return []
    for other in names:
        if other.startswith(name[:-3] + b".") and other.endswith(b".pyc"):
            target = os.path.join(mirrored, other)
            os.unlink(target)
            removed.append(target)
    return removed
