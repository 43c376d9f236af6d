"""What a linked worktree carries, kept in git's own directory of it."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from overlaysync.model.worktree import Ported
from overlaysync.worktree.git import encode

NAME = "overlaysync-port.json"


def load(git_directory: str | Path) -> Ported | None:
    """None for a worktree that ``port`` did not make."""
    place = Path(os.fsdecode(encode(f"{git_directory}/{NAME}")))
    try:
        return msgspec.json.decode(place.read_bytes(), type=Ported)
    except (OSError, msgspec.MsgspecError):
        return None


def save(git_directory: Path, ported: Ported) -> None:
    temporary = git_directory / f"{NAME}.new"
    temporary.write_bytes(msgspec.json.encode(ported))
    temporary.replace(git_directory / NAME)
