"""Where a distribution was found the last time, so that the target can look there before it is asked to.

It is a guess: what is opened in the end is what the interpreter names.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from overlaysync.app.calling import Link
from overlaysync.app.installed_cache import InstalledCache
from overlaysync.state.directories import cache_directory
from overlaysync.worktree.cache import cache_file, load_cache, save_cache

KIND = "place"
MAGIC = b"overlaysync place 1\n"


class Place(Struct, frozen=True, array_like=True):
    """An install root, what is opened there, and the repository's format of object ids."""

    root: str
    metadata: str
    packages: tuple[str, ...]
    object_format: str


class Guess(NamedTuple):
    """Where it is expected, with what is known of it."""

    place: Place
    known: InstalledCache


def guess(link: Link) -> Guess | None:
    """What was opened the last time; None where that is not known."""
    place = remembered(link)
    return None if place is None else Guess(place, installed_cache(link, place.root, place.object_format))


def installed_cache(link: Link, root: str, object_format: str) -> InstalledCache:
    return InstalledCache(cache_directory(), link.identity, root, object_format)


def remembered(link: Link) -> Place | None:
    file = _file(link)
    raw = load_cache(file, MAGIC) if file is not None else b""
    try:
        return msgspec.msgpack.decode(raw, type=Place) if raw else None
    except msgspec.MsgspecError:
        return None


def remember(link: Link, place: Place) -> None:
    file = _file(link)
    if file is not None and remembered(link) != place:
        with contextlib.suppress(UnicodeEncodeError):
            save_cache(file, MAGIC, msgspec.msgpack.encode(place))


def _file(link: Link) -> Path | None:
    directory, identity = cache_directory(), link.identity
    if directory is None:
        return None
    name = (identity.kind, identity.itself, link.name, link.named_interpreter or "", link.setting.user)
    return cache_file(directory, KIND, "\n".join(name))
