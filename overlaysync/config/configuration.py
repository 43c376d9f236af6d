"""What can be configured: names, patterns and paths in the target, as data.

Nothing here can make the host run anything. A configuration comes with a repository that may be somebody
else's, so there is no key for a command, a hook, a plugin, or a file on the host.
"""

from __future__ import annotations

from msgspec import Struct

DEFAULT_EVIDENCE = ("label:org.opencontainers.image.revision", "pep610")
"""Where the image commit is looked for when nothing is configured (OCI image annotations; PEP 610)."""


class PackageConfiguration(Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """One ``[[package]]`` table. Every path is one in the target; patterns over files are gitignore's.

    ``distribution``: None only where neither the file nor the repository's own metadata names one.
    ``interpreter``, ``user``, ``working_directory``: None where it is to be found in the target.
    ``not_built``: repository paths that no build reads; None for the built-in list.
    """

    distribution: str | None = None
    image_commit: tuple[str, ...] = DEFAULT_EVIDENCE
    interpreter: str | None = None
    user: str | None = None
    working_directory: str | None = None
    workload_ignore: tuple[str, ...] = ()
    generated: tuple[str, ...] = ()
    ships: tuple[str, ...] = ()
    not_shipped: tuple[str, ...] = ()
    not_built: tuple[str, ...] | None = None


class WatchConfiguration(Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """The ``[watch]`` table: when a change counts as settled, in milliseconds."""

    quiet_ms: float = 20.0
    bound_ms: float = 500.0


class Document(Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """The tables as they are written: the top of ``overlaysync.toml``, or ``[tool.overlaysync]``."""

    target: str | None = None
    package: tuple[PackageConfiguration, ...] = ()
    watch: WatchConfiguration = WatchConfiguration()
    pre_push: str = "stop"


class Configuration(Struct, frozen=True):
    """What a run goes by: one package at least.

    ``file``: where it was read from, None where there is no configuration.
    ``distribution_by_default``: the only package's distribution is not written in ``file``, so another one
    may be named on the command line.
    """

    target: str | None
    packages: tuple[PackageConfiguration, ...]
    file: str | None
    distribution_by_default: bool = False
    pre_push: str = "stop"
    watch: WatchConfiguration = WatchConfiguration()
