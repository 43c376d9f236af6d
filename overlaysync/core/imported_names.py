"""What a dotted name means by the imports of its file: ``tl.load`` is ``triton.language.load``."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from overlaysync.core.vocabulary import words

Dotted = tuple[str, ...]

RESULTS_KEPT = words(
    "Library CDLL PyDLL WinDLL LoadLibrary FFI dlopen load load_inline load_module RawModule SourceModule"
)
"""Calls whose result is a foreign library: a name bound to it stands for the call in ``lib.function``."""


class Meaning(NamedTuple):
    """One thing that a name can mean. ``imported``: its first part was bound by an import of the file."""

    dotted: Dotted
    imported: bool


class Names:
    """Names bound by imports and simple assignments; those of an inner scope come before the outer's.

    A name bound twice (``try: import x`` and a fallback) means either.
    """

    def __init__(self, outer: Names | None = None) -> None:
        self._outer = outer
        self._bound: defaultdict[str, set[Dotted]] = defaultdict(set)
        self._star_modules: set[Dotted] = set()

    def bind(self, nodes: Sequence[ast.AST]) -> Names:
        """Add what the imports and assignments among the nodes bind; returns itself."""
        for node in nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._bind_import(node)
        for node in nodes:
            if isinstance(node, ast.Assign):
                self._bind_assignment(node)
        return self

    def meanings(self, name: Dotted) -> Iterator[Meaning]:
        """All that a dotted name can mean; itself, if nothing of the file binds its first part."""
        bound = self._find(name)
        for dotted in bound:
            yield Meaning(dotted, imported=True)
        if not bound:
            yield Meaning(name, imported=False)
            for module in self._stars():
                yield Meaning(module + name, imported=False)

    def _find(self, name: Dotted) -> list[Dotted]:
        # Two parts as well, for self.library = ctypes.CDLL(...)
        for length in (2, 1):
            bound = self._bound.get(".".join(name[:length]))
            if bound and len(name) >= length:
                return [dotted + name[length:] for dotted in sorted(bound)]
        return self._outer._find(name) if self._outer else []

    def _stars(self) -> set[Dotted]:
        return self._star_modules | (self._outer._stars() if self._outer else set())

    def _bind_import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            dotted = imported_as(node, alias)
            if alias.name == "*":
                self._star_modules.add(dotted[:-1])
            elif isinstance(node, ast.Import) and not alias.asname:
                self._bound[dotted[0]].add(dotted[:1])
            else:
                self._bound[alias.asname or alias.name].add(dotted)

    def _bind_assignment(self, node: ast.Assign) -> None:
        source = self._source(node.value)
        if source is None:
            return
        for target in node.targets:
            name = dotted_name(target)
            if name and (len(name) == 1 or (len(name) == 2 and name[0] == "self")):
                self._bound[".".join(name)].add(source)

    def _source(self, value: ast.expr) -> Dotted | None:
        """What an assigned value stands for: another name, the result of a kept call, an imported module."""
        call = value if isinstance(value, ast.Call) else None
        name = dotted_name(call.func if call else value)
        if not name:
            return None
        source = next((dotted for dotted, imported in self.meanings(name) if imported), None)
        if call is None or source is None:
            return source
        if source[-1] == "import_module" and call.args and isinstance(call.args[0], ast.Constant):
            return tuple(str(call.args[0].value).split("."))
        return source if source[-1] in RESULTS_KEPT else None


def imported_as(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> Dotted:
    """The full name of one imported name; the dots of a relative import are its first part."""
    if isinstance(node, ast.Import):
        return tuple(alias.name.split("."))
    module = tuple(node.module.split(".")) if node.module else ()
    relative = ("." * node.level,) if node.level else ()
    return (*relative, *module, alias.name)


def dotted_name(node: ast.AST) -> Dotted | None:
    """``a.b.c`` as its parts; None for anything but names and attributes of names."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return (node.id, *reversed(parts))


def dotted_names(nodes: Iterable[ast.AST]) -> list[Dotted]:
    """Every longest dotted name among the nodes, once. A node comes after the one that holds it."""
    found: dict[Dotted, None] = {}
    inner: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Attribute):
            inner.add(id(node.value))
        elif not isinstance(node, ast.Name):
            continue
        name = None if id(node) in inner else dotted_name(node)
        if name:
            found[name] = None
    return list(found)


class Reading(NamedTuple):
    """The nodes of a definition, what its names are bound to, and all that it mentions."""

    nodes: list[ast.AST]
    names: Names
    mentioned: list[Meaning]


def read(nodes: list[ast.AST], module: Names) -> Reading:
    """Resolve what the nodes mention by the imports of the module and by those among them."""
    names = Names(module).bind(nodes)
    mentioned = [meaning for name in dotted_names(nodes) for meaning in names.meanings(name)]
    return Reading(nodes, names, mentioned)


def matched(dotted: Dotted, known: frozenset[Dotted]) -> bool:
    """Whether consecutive parts of the name are one of the known names.

    Re-exports are common (``vllm.triton_utils.triton.jit``), so a known name may start anywhere.
    """
    longest = max(map(len, known), default=0)
    return any(
        dotted[start : start + length] in known
        for start in range(len(dotted))
        for length in range(1, longest + 1)
    )


def dotted_set(*texts: str) -> frozenset[Dotted]:
    """Known names, written with dots and separated by spaces."""
    return frozenset(tuple(name.split(".")) for text in texts for name in text.split())


def shown(dotted: Dotted) -> str:
    """The name as source text has it."""
    relative = dotted[0] if dotted[0].startswith(".") else ""
    return relative + ".".join(dotted[1:] if relative else dotted)
