"""What the program imports is what its installation brings."""

from __future__ import annotations

import ast
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import tomli

PROJECT = Path(__file__).parents[1]


def imported(file: Path) -> set[str]:
    """First names of all modules that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module or "")
    return {name.partition(".")[0] for name in found}


def test_every_import_is_a_declared_dependency() -> None:
    """Developers have more installed than users."""
    metadata = tomli.loads((PROJECT / "pyproject.toml").read_text())["project"]
    declared = {line.partition(">")[0].lower() for line in metadata["dependencies"]}
    names = set().union(*map(imported, (PROJECT / "overlaysync").rglob("*.py")))
    names -= {"overlaysync", *sys.stdlib_module_names}
    assert {"click", "filelock", "msgspec"} <= names
    providers = packages_distributions()
    undeclared = {name for name in names if declared.isdisjoint(map(str.lower, providers.get(name, [name])))}
    assert undeclared == set()
