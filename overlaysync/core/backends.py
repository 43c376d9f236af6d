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
    try:
        tables = tomli.loads((pyproject or b"").decode("utf-8"))
    except (tomli.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        return False
    backend = _at(tables, ("build-system", "build-backend"))
    if not isinstance(backend, str) or _at(tables, ("build-system", "backend-path")) is not None:
        return False
    selections = _SELECTIONS.get(backend)
    return selections is not None and all(_at(tables, keys) is None for keys in selections)


def _at(tables: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        if not isinstance(tables, dict) or key not in tables:
            return None
        tables = tables[key]
    return tables
