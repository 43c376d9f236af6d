"""Which of the configured packages a command is about."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs
from packaging.utils import canonicalize_name

from overlaysync.config.configuration import Configuration, PackageConfiguration
from overlaysync.config.keys import KEYS, shown, shown_path
from overlaysync.errors import UsageError


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
    wanted = canonicalize_name(distribution)
    for package in packages:
        if package.distribution is not None and canonicalize_name(package.distribution) == wanted:
            return package
    if configuration.distribution_by_default:
        return structs.replace(packages[0], distribution=distribution)
    place = shown_path(Path(configuration.file or ""))
    raise UsageError(
        f"{shown(distribution)} is not configured in {place}; configured: {names}",
        "name one of these with --distribution, or add a [[package]] table",
    )
