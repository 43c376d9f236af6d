"""What builds ship of a small package, as models of two backends that differ in all that a new file meets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

Ships = Callable[[Mapping[str, bytes]], dict[str, bytes]]
"""From the files of a repository to those that its wheel installs; both by path."""


class Model(NamedTuple):
    """A build: its ``pyproject.toml``, and what it ships; tests hold it against the real backend.

    ``told``: the backend's documentation tells it all, so that nothing may be left open.
    """

    pyproject: bytes
    ships: Ships
    told: bool

    @property
    def sources(self) -> dict[str, bytes]:
        """The repository's files."""
        return {"pyproject.toml": self.pyproject, **FILES}


FILES: Mapping[str, bytes] = {
    "README.md": b"# Package\n",
    "tools/release.py": b"print('release')\n",
    "tests/test_core.py": b"import pkg\n",
    "pkg/__init__.py": b"from pkg.core import NUMBER\n",
    "pkg/core.py": b"NUMBER = 1\n",
    "pkg/defaults.json": b'{"number": 1}\n',
    "pkg/py.typed": b"",
    "pkg/core.pyi": b"NUMBER: int\n",
    "pkg/layers/__init__.py": b"",
    "pkg/layers/norm.py": b"def norm(value):\n    return value / 2\n",
    "pkg/layers/norm.json": b'{"by": 2}\n',
    "pkg/models/__init__.py": b"from pkg.layers import norm\n",
    "pkg/models/tiny.py": b"LAYERS = 1\n",
    "pkg/models/tiny.json": b'{"layers": 1}\n',
}
"""No file of it tells what a build does with a directory that has no ``__init__.py``."""


def _everything(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Whatever lies below the package, as flit, hatchling and poetry ship it."""
    return {path: content for path, content in files.items() if path.startswith("pkg/")}


def _packages(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Of directories with an ``__init__.py`` all the way up, Python files and some kinds of data."""
    return {
        path: content
        for path, content in _everything(files).items()
        if _is_package(path.rpartition("/")[0], files) and path.endswith((".py", ".json", ".pyi", "py.typed"))
    }


def _is_package(directory: str, files: Mapping[str, bytes]) -> bool:
    parts = directory.split("/")
    levels = ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
    return all(f"{level}/__init__.py" in files for level in levels)


_PROJECT = b"""\
[project]
name = "pkg"
version = "1.0"
description = "A package"
"""

_FLIT = b"""\
[build-system]
requires = ["flit_core>=3.9"]
build-backend = "flit_core.buildapi"
"""

_SETUPTOOLS = b"""\
[build-system]
requires = ["setuptools>=64"]
build-backend = "setuptools.build_meta"

[tool.setuptools]
include-package-data = false

[tool.setuptools.packages.find]
include = ["pkg*"]
namespaces = false

[tool.setuptools.package-data]
"*" = ["*.json", "*.pyi", "py.typed"]
"""

MODELS: Mapping[str, Model] = {
    "flit": Model(_FLIT + _PROJECT, _everything, told=True),
    "setuptools": Model(_SETUPTOOLS + _PROJECT, _packages, told=False),
}
