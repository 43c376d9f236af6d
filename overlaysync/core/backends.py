"""Build backends that say, without running anything of the repository, what they ship of a package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomli

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


def ships_whole_packages(pyproject: bytes | None) -> bool:
    """Whether every file below a package that ships would ship too, by the backend's documented rule.

    Args:
        pyproject: HEAD's ``pyproject.toml``; None where there is none, which means setuptools.
    """
    tables = _load(pyproject)
    selections = _SELECTIONS.get(_backend(tables) or "")
    return selections is not None and all(_at(tables, keys) is None for keys in selections)


def unread_by_backend(pyproject: bytes | None) -> tuple[str, ...]:
    """Gitignore patterns of build files that are for another backend than HEAD's ``pyproject.toml`` names."""
    others = _backend(_load(pyproject)) in (*_SELECTIONS, "mesonpy")
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
