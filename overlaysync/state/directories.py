"""Where this tool keeps its own files on the host: records that matter, and a cache that does not.

platformdirs decides, and with it ``XDG_STATE_HOME`` and ``XDG_CACHE_HOME``. Both directories are for their
owner alone: what they hold names private paths and unpublished code.
"""

from __future__ import annotations

from pathlib import Path

import platformdirs

from overlaysync.errors import UsageError

_NAME = "overlaysync"


def state_directory() -> Path:
    """The directory of records, made if it is not there.

    Raises:
        UsageError: it cannot be made for us alone.
    """
    path = Path(platformdirs.user_state_dir(_NAME, appauthor=False))
    try:
        return _private(path)
    except OSError as error:
        raise UsageError(
            f"records cannot be kept in {path}: {error}",
            "set XDG_STATE_HOME to an absolute path of a directory that you may write to",
        ) from error


def cache_directory() -> Path | None:
    """The directory of the cache, made if it is not there; None where it cannot be, which costs time only."""
    try:
        return _private(Path(platformdirs.user_cache_dir(_NAME, appauthor=False)))
    except OSError:
        return None


def _private(path: Path) -> Path:
    if not path.is_absolute():  # without a home, "~" would be made in the current directory
        raise FileNotFoundError("no home directory is known")
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.stat().st_mode & 0o077:
        path.chmod(0o700)
    return path
