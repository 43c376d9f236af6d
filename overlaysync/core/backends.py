"""Build backends that say, without running anything of the repository, what they ship of a package."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from typing import Any

import tomli

from overlaysync.core.setuptools_selection import Selection, selection

_SELECTIONS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "flit_core.buildapi": (),
    "flit.buildapi": (),
    "hatchling.build": tuple(
        (*table, key)
        for table in (("tool", "hatch", "build"), ("tool", "hatch", "build", "targets", "wheel"))
        for key in ("exclude", "include", "only-include")
    ),
    "maturin": (("tool", "maturin", "exclude"),),
    "pdm.backend": (("tool", "pdm", "build", "excludes"), ("tool", "pdm", "build", "includes")),
    "poetry.core.masonry.api": (("tool", "poetry", "exclude"),),
    "scikit_build_core.build": tuple(("tool", "scikit-build", key, "exclude") for key in ("sdist", "wheel")),
    "uv_build": tuple(("tool", "uv", "build-backend", key) for key in ("source-exclude", "wheel-exclude")),
}
"""Backends that ship whatever lies in a package, and where each can be told to select.

Sources: "Building source distributions and wheels" of each backend's own documentation.
"""


class Whole(str, enum.Enum):
    """How much of what lies in a package a build ships without being told of it."""

    NOTHING = "nothing"
    DATA = "data"  # beside modules, which it lists by other rules
    FILES = "files"


BUILD_FILES = ("pyproject.toml", "setup.cfg", "setup.py", "MANIFEST.in")
"""What the answers are read from."""


def ships_whole(head: Mapping[str, bytes]) -> Whole:
    """What HEAD's build ships of a package, by its backend's documented rule.

    Args:
        head: those of ``BUILD_FILES`` that HEAD has, by name.
    """
    tables = _load(head.get("pyproject.toml"))
    backend = _backend(tables)
    if backend in (None, "setuptools.build_meta"):
        return Whole.DATA if _ships_tracked_data(tables, head) else Whole.NOTHING
    selections = _SELECTIONS.get(backend or "")
    if selections is None or any(_at(tables, keys) is not None for keys in selections):
        return Whole.NOTHING
    return Whole.FILES


def selected(head: Mapping[str, bytes]) -> Selection:
    """What HEAD's build selects by name, where it is setuptools'."""
    backend = _backend(_load(head.get("pyproject.toml")))
    return selection(head) if backend in (None, "setuptools.build_meta") else Selection()


def excluded(head: Mapping[str, bytes]) -> tuple[str, ...]:
    """Patterns by which HEAD's build leaves files out, of a backend that ships what lies in a package."""
    tables = _load(head.get("pyproject.toml"))
    found = (
        _at(tables, keys)
        for keys in _SELECTIONS.get(_backend(tables) or "", ())
        if keys[-1].endswith(("exclude", "excludes"))
    )
    entries = (entry for value in found if isinstance(value, list) for entry in value)
    patterns = (entry.get("path") if isinstance(entry, dict) else entry for entry in entries)
    return tuple(pattern for pattern in patterns if isinstance(pattern, str))


def _ships_tracked_data(tables: Any, head: Mapping[str, bytes]) -> bool:
    """Whether setuptools takes all that git tracks in a package: setuptools-scm lists it, none leaves it out.

    https://setuptools-scm.readthedocs.io/en/latest/usage/#file-finders-hook-makes-most-of-manifestin-unnecessary
    """
    requires = _at(tables, ("build-system", "requires"))
    if not isinstance(requires, list) or not any(
        re.match(r"setuptools[-_.]scm\b", str(item), re.IGNORECASE) for item in requires
    ):
        return False
    import configparser

    options = configparser.RawConfigParser(strict=False)
    try:
        options.read_string(head.get("setup.cfg", b"").decode("utf-8"))
        included = options.getboolean("options", "include_package_data", fallback=None)
    except (configparser.Error, UnicodeDecodeError, ValueError):
        return False
    if included is None and _at(tables, ("project",)) is not None:
        included = _at(tables, ("tool", "setuptools", "include-package-data")) is not False
    excluded = options.has_section("options.exclude_package_data") or "MANIFEST.in" in head
    excluded = excluded or _at(tables, ("tool", "setuptools", "exclude-package-data")) is not None
    return bool(included) and not excluded


def unread_by_backend(head: Mapping[str, bytes]) -> tuple[str, ...]:
    """Gitignore patterns of build files that are for another backend than HEAD's."""
    others = _backend(_load(head.get("pyproject.toml"))) in (*_SELECTIONS, "mesonpy")
    return ("/MANIFEST.in",) if others else ()


def _load(pyproject: bytes | None) -> Any:
    try:
        return tomli.loads((pyproject or b"").decode("utf-8"))
    except (tomli.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        return {}  # the file is refused where it changes; unchanged, nothing is known from it


def _backend(tables: Any) -> str | None:
    """The backend of the package index that builds; None for one of the repository's own."""
    name = _at(tables, ("build-system", "build-backend"))
    in_tree = _at(tables, ("build-system", "backend-path")) is not None
    return name if isinstance(name, str) and not in_tree else None


def _at(tables: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        if not isinstance(tables, dict) or key not in tables:
            return None
        tables = tables[key]
    return tables
