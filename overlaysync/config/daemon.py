"""The user's own file of what the daemon watches: ``daemon.toml`` in the configuration directory.

It is not a repository's, so a ``local:`` target may stand there; but no command, hook or plugin either.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from overlaysync.config import files
from overlaysync.config.keys import shown_path
from overlaysync.errors import ConfigError

EXAMPLE = 'pair = [{ worktree = "~/src/vllm", target = "docker:my-dev" }]'


class PairConfiguration(Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """One ``[[pair]]``: a worktree, and the target that follows it. The rest is as on the command line."""

    worktree: str
    target: str
    distribution: str | None = None
    interpreter: str | None = None
    user: str | None = None
    image_commit: str | None = None
    port: bool = False

    @property
    def name(self) -> str:
        """What the pair is called in tables and logs."""
        return f"{Path(self.worktree).name} → {self.target}"

    @property
    def directory(self) -> Path:
        return Path(self.worktree).expanduser()


class DaemonConfiguration(Struct, frozen=True, forbid_unknown_fields=True):
    pair: tuple[PairConfiguration, ...] = ()


def load_daemon(file: Path) -> DaemonConfiguration:
    """Raises ConfigError: no such file, no table in it, a wrong key or value, or a pair twice."""
    text = files.read(file, within=None)
    if text is None:
        raise ConfigError(f"{shown_path(file)} is not there", f"write it, for example: {EXAMPLE}")
    try:
        found = msgspec.convert(files.parse(text, file), DaemonConfiguration)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{shown_path(file)}: {error}", f"write for example: {EXAMPLE}") from error
    if not found.pair:
        raise ConfigError(f"{shown_path(file)} names no pair", f"write for example: {EXAMPLE}")
    for pair in found.pair:
        if not pair.directory.is_absolute():
            raise ConfigError(
                f"{shown_path(file)}: the worktree {pair.worktree!r} is no absolute path",
                "the daemon has no current directory: write the whole path, or ~/…",
            )
    places = [(pair.directory, pair.target, pair.distribution) for pair in found.pair]
    if len(set(places)) < len(places):
        raise ConfigError(f"{shown_path(file)} names a pair twice", "remove one of them")
    named = [(pair.target, pair.distribution) for pair in found.pair if pair.distribution is not None]
    if len(set(named)) < len(named):
        raise ConfigError(
            f"{shown_path(file)} has two worktrees for one distribution of a target, which would push over "
            "each other without end",
            "leave one of them out, or name another target",
        )
    return found
