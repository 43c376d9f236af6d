"""Which of the configured packages a command is about."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from overlaysync.config.configuration import Configuration, PackageConfiguration
from overlaysync.config.keys import KEYS, shown, shown_path
from overlaysync.core.names import canonical
from overlaysync.errors import UsageError

LOCAL = "local:"
"""How the specification of a target begins that is this machine itself."""


def select(configuration: Configuration, distribution: str | None) -> PackageConfiguration:
    """The package that ``--distribution`` names, or the only one.

    Names are compared as PEP 503 normalises them. The only package keeps its settings under another name
    where the file gives it none; its ``distribution`` is None where nothing names one.

    Raises:
        UsageError: no such package, or several and none named.
    """
    packages = configuration.packages
    names = ", ".join(package.distribution or "" for package in packages)
    if distribution is None:
        if len(packages) == 1:
            return packages[0]
        raise UsageError(
            f"several distributions are configured: {names}", "name one of them with --distribution NAME"
        )
    form = KEYS["distribution"].value
    if form and not form.fullmatch(distribution):
        raise UsageError(
            f"{shown(distribution)} is no name of a distribution",
            "name it as `pip list` does in the target",
        )
    wanted = canonical(distribution)
    for package in packages:
        if package.distribution is not None and canonical(package.distribution) == wanted:
            return package
    if configuration.distribution_by_default:
        return structs.replace(packages[0], distribution=distribution)
    place = shown_path(Path(configuration.file or ""))
    raise UsageError(
        f"{shown(distribution)} is not configured in {place}; configured: {names}",
        "name one of these with --distribution, or add a [[package]] table",
    )


def on_this_machine(package: PackageConfiguration) -> PackageConfiguration:
    """The package without what would name a place of the host, for a target that is the host itself.

    A repository's configuration speaks of containers. On a ``local:`` target its ``interpreter`` would be a
    program that the host runs, and ``file:`` and ``env:`` something of the user's own that is read.
    """
    kept = (item for item in package.image_commit if not item.startswith(("file:", "env:")))
    return structs.replace(
        package, interpreter=None, user=None, working_directory=None, image_commit=tuple(kept)
    )
