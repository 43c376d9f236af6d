"""``hook install``: the pre-push hook in the directory that git takes hooks from."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from overlaysync.app.hook_script import KEPT, MARK, script
from overlaysync.app.options import Options
from overlaysync.errors import UsageError
from overlaysync.model.result import Outcome, Result
from overlaysync.worktree.repository import hooks_directory

NAME = "pre-push"


def install(options: Options) -> Result:
    """Puts the hook in place; a foreign one is kept, and runs first. Raises UsageError."""
    directory = hooks_directory(options.worktree)
    place, kept = directory / NAME, directory / f"{NAME}{KEPT}"
    try:
        foreign = os.path.lexists(place) and not _is_ours(place)
        if foreign and os.path.lexists(kept):
            raise UsageError(
                f"{place} is a foreign hook, and another one is kept in {kept.name}",
                "make them one hook, and remove the kept one",
            )
        temporary = _write_beside(place, script(_program()))
        if foreign:  # only now: no trouble before leaves a push without any hook
            place.rename(kept)
        temporary.replace(place)
    except OSError as error:
        raise _unwritable(place, error) from error
    told = f"installed {place}" + (f"; {kept.name} runs first" if os.path.lexists(kept) else "")
    return _result(told, place)


def uninstall(options: Options) -> Result:
    """Takes the hook away, and puts a foreign one back. Raises UsageError."""
    directory = hooks_directory(options.worktree)
    place, kept = directory / NAME, directory / f"{NAME}{KEPT}"
    try:
        if not os.path.lexists(place) or not _is_ours(place):
            return _result(
                f"{place} is no hook of overlaysync; nothing was changed", place, outcome="unchanged"
            )
        if os.path.lexists(kept):
            kept.replace(place)
        else:
            place.unlink()
    except OSError as error:
        raise _unwritable(place, error) from error
    return _result(f"removed {place}", place)


def _write_beside(place: Path, text: str) -> Path:
    """An executable file by a name that nobody can have put a link at: the directory may be a checkout's."""
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            os.fchmod(handle, 0o755)
    except BaseException:
        Path(temporary).unlink()
        raise
    return Path(temporary)


def _is_ours(place: Path) -> bool:
    try:
        return MARK in place.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return False  # a link that leads nowhere


def _program() -> str:
    """The command that runs now, by its place; where it has none, by its name."""
    beside = Path(sys.executable).with_name("overlaysync")
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("overlaysync") or "overlaysync"


def _unwritable(place: Path, error: OSError) -> UsageError:
    return UsageError(f"{place} cannot be changed: {error.strerror}", "make the directory of hooks writable")


def _result(told: str, place: Path, *, outcome: Outcome = "applied") -> Result:
    details = {"sentence": told, "hook": str(place)}
    return Result(command="hook install", outcome=outcome, exit_code=0, details=details)
