"""Blobs that were read last. What an id stands for never changes, and a watch asks for the same ones."""

from __future__ import annotations

from overlaysync.model.worktree import ObjectId

LIMIT, LARGEST = 4 << 20, 1 << 20
"""Bytes of all that is kept, and of one of them."""


class RecentBlobs:
    """For one conversation after another with a repository; used by one of them at a time."""

    def __init__(self) -> None:
        self._kept: dict[ObjectId, bytes] = {}
        self._size = 0

    def get(self, oid: ObjectId) -> bytes | None:
        content = self._kept.pop(oid, None)
        if content is not None:
            self._kept[oid] = content  # it is the last one now
        return content

    def keep(self, oid: ObjectId, content: bytes) -> None:
        """The oldest give way."""
        if oid in self._kept or len(content) > LARGEST:
            return
        self._kept[oid] = content
        self._size += len(content)
        while self._size > LIMIT:
            self._size -= len(self._kept.pop(next(iter(self._kept))))
