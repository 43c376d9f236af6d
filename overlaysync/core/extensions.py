"""Extension modules that stand in the package, and that the target's interpreter does not see."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from overlaysync.core.finding import listed
from overlaysync.core.surroundings import directories_above, parent
from overlaysync.model.problem import Problem
from overlaysync.model.target import FileKind, InstalledPath, Interpreter, Inventory

_ENDS = ("so", "pyd", "dylib")
_SUFFIX = re.compile(r"\.(?:(?:cpython|cp\d|pypy|pp\d|graalpy|abi\d)[^.]*\.)?(?:so|pyd|dylib)")
"""Suffixes that import systems of any interpreter and platform look for (PEP 3149, PEP 425's tags)."""


def judge(inventory: Inventory, interpreter: Interpreter) -> list[Problem]:
    """Modules of which there are only extensions with suffixes of other interpreters or platforms."""
    accepted = interpreter.extension_suffixes
    if not accepted:
        return []
    installed = [file.path for file in inventory.files if file.kind is FileKind.FILE]
    near = {
        module: suffixes
        for module, suffixes in _by_module((*installed, *inventory.extensions)).items()
        if suffixes.isdisjoint(accepted)
    }
    if not near:
        return []
    visible = {path.rpartition(".")[0] for path in installed if path.endswith(".py")}
    holders = set(map(parent, installed))
    visible |= {above for holder in holders for above in (holder, *directories_above(holder))}
    problems = []
    for module, suffixes in sorted(near.items()):
        if module in visible:
            continue
        names = listed([module.rpartition("/")[2] + suffix for suffix in sorted(suffixes)])
        message = (
            f"{module.replace('/', '.')} is not found by Python {interpreter.version}, which looks for "
            f"{', '.join(accepted)}; there is only {names}"
        )
        next_step = "install a wheel for this interpreter, or if nothing needs it: --acknowledge environment"
        problems.append(Problem("extension-invisible", message, next_step, module))
    return problems


def _by_module(paths: Iterable[InstalledPath]) -> dict[str, set[str]]:
    """Suffixes of what looks like an extension module, by the module's path without one."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        if not path.endswith(_ENDS):
            continue
        directory, _, name = path.rpartition("/")
        stem, dot, rest = name.partition(".")
        if stem.isidentifier() and _SUFFIX.fullmatch(dot + rest):
            found[f"{directory}/{stem}" if directory else stem].add(dot + rest)
    return found
