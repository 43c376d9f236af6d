"""Git LFS pointer texts: a small blob that stands for data kept elsewhere."""

from __future__ import annotations

import re

from overlaysync.model.worktree import Content, Sha256

MAXIMUM_SIZE = 1024
"""Bytes that a pointer text stays below (Git LFS, docs/spec.md)."""

_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n"
    rb"oid sha256:(?P<sha256>[0-9a-f]{64})\nsize (?P<size>\d{1,18})\n"
)


def is_pointer(start: bytes) -> bool:
    """Whether a content with this beginning is a pointer text, or would be one but for damage."""
    return start.startswith((b"version https://git-lfs", b"version https://hawser"))


def pointed(start: bytes) -> Sha256 | None:
    """The digest of the data that a pointer text names; None for anything else."""
    pointer = _POINTER.fullmatch(start)
    return Sha256(pointer["sha256"].decode()) if pointer is not None else None


def points_to(start: bytes, content: Content) -> bool:
    """Whether the pointer text names exactly this content, by digest and size.

    Source: the pointer format of Git LFS, docs/spec.md. With an ``ext-`` line the digest is of a further
    filter's output, so such a pointer names nothing that could be compared.
    """
    pointer = _POINTER.fullmatch(start)
    return (
        pointer is not None
        and pointer["sha256"].decode() == content.sha256
        and int(pointer["size"]) == content.size
    )
