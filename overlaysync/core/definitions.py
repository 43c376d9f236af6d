"""The definitions and statements of a Python file, and which of them differ between two sides.

A file is cut into units: a function or method with its decorators and everything inside, the header of a
class, one imported name, any other statement of a module or class body. Units of equal name and equal syntax
are the same wherever they stand, so that moving or wrapping code changes only what was written anew.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cached_property
from itertools import zip_longest

from msgspec import Struct

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LINE_END = re.compile(rb"\r\n|\r|\n")  # what the parser takes for one, unlike bytes.splitlines
_BODIES = ("body", "orelse", "finalbody")
_ANNOTATIONS = frozenset({"annotation", "returns"})
_UNSEEN_FIELDS = frozenset(
    {"kind", "type_comment"}
)  # the u of u"" and type comments change nothing that runs


class Unit(Struct, frozen=True, eq=False, dict=True):
    """One definition or statement.

    ``name``: qualified name of a function or class, the assigned names of an assignment, else empty.
    ``scope``: qualified name of the class around it, empty at module level.
    ``roots``: the syntax to look at; not the bodies of classes and compound statements, which are units too.
    ``text``: the lines that a whole statement stands on; empty for a part of a statement.
    """

    name: str
    scope: str
    line: int
    roots: tuple[ast.AST, ...]
    text: tuple[bytes, ...]

    @property
    def function(self) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        root = self.roots[0] if self.roots else None
        return root if isinstance(root, _FUNCTIONS) else None

    @property
    def title(self) -> str:
        return f"{self.name} (line {self.line})" if self.name else f"line {self.line}"

    @property
    def key(self) -> tuple[str, ...]:
        """Equal exactly for units that say the same."""
        return (self.scope, self.name, *map(fingerprint, self.roots))

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the unit but annotations, each after the one that holds it."""
        found: list[ast.AST] = []
        pending: list[object] = list(self.roots)
        while pending:
            item = pending.pop()
            if isinstance(item, ast.AST):
                found.append(item)
                pending.extend(
                    getattr(item, field, None) for field in item._fields if field not in _ANNOTATIONS
                )
            elif isinstance(item, list):
                pending.extend(item)
        return found


def fingerprint(root: ast.AST) -> str:
    """The syntax below a node as text, without positions; equal exactly for equal syntax."""
    return " ".join(_parts(root))


def same_syntax(left: ast.AST, right: ast.AST) -> bool:
    """Whether both say the same; found out as far as the first difference."""
    return all(one == other for one, other in zip_longest(_parts(left), _parts(right)))


def _parts(root: ast.AST) -> Iterator[str]:
    """Unlike ``ast.dump`` it does not recurse: long chains of operators in files exceed Python's limit."""
    pending: list[object] = [root]
    while pending:
        item = pending.pop()
        if isinstance(item, ast.AST):
            yield type(item).__name__
            pending.extend(
                getattr(item, field, None) for field in item._fields if field not in _UNSEEN_FIELDS
            )
        elif isinstance(item, list):
            yield f"[{len(item)}]"
            pending.extend(item)
        else:
            # Decimal text of a huge integer is refused by Python 3.11 and later.
            yield hex(item) if type(item) is int else repr(item)


def units(tree: ast.Module, source: bytes) -> list[Unit]:
    """All units of a module that was parsed from the source, in the order of their lines."""
    lines = LINE_END.split(source)
    found: list[Unit] = []
    pending: list[tuple[ast.AST, str]] = [(statement, "") for statement in tree.body]
    while pending:
        node, scope = pending.pop()
        found.extend(_cut(node, scope, lines))
        if isinstance(node, ast.ClassDef):
            pending.extend((statement, _qualified(scope, node.name)) for statement in node.body)
        elif not isinstance(node, _FUNCTIONS):
            pending.extend((statement, scope) for statement in _nested_statements(node))
    return sorted(found, key=lambda unit: unit.line)


def difference(before: list[Unit], after: list[Unit]) -> tuple[list[Unit], list[Unit]]:
    """The units only before (removed, or changed and shown as they were), and those only after."""
    # Equal lines say the same: most units need no fingerprint, which takes longer than parsing.
    old, new = _without_common(
        before, after, lambda unit: (unit.scope, unit.name, unit.text) if unit.text else None
    )
    return _without_common(old, new, lambda unit: unit.key)


def _without_common(
    before: list[Unit], after: list[Unit], key: Callable[[Unit], Hashable]
) -> tuple[list[Unit], list[Unit]]:
    """Both lists without pairs of equal key; a key of None pairs with nothing."""
    old_keys, new_keys = list(map(key, before)), list(map(key, after))
    common = Counter(old_keys) & Counter(new_keys)
    del common[None]
    return _without(before, old_keys, common), _without(after, new_keys, common)


def _without(units_: list[Unit], keys: list[Hashable], common: Counter[Hashable]) -> list[Unit]:
    left = Counter(common)
    kept = []
    for unit, key in zip(units_, keys, strict=True):
        if left[key] > 0:
            left[key] -= 1
        else:
            kept.append(unit)
    return kept


def changed_titles(before: list[Unit], after: list[Unit]) -> list[str]:
    """What to call the differences: names and line numbers, each name once."""
    removed, written = difference(before, after)
    names = {unit.name for unit in written if unit.name}
    titles = [unit.title for unit in written]
    titles += [f"{unit.title} removed" for unit in removed if unit.name not in names]
    return titles or ["the order of statements"]


def _cut(node: ast.AST, scope: str, lines: list[bytes]) -> Iterator[Unit]:
    """The units that a statement makes itself, without those of the statements nested in it."""
    line = getattr(node, "lineno", 0)
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield Unit(_qualified(scope, node.name), scope, line, (node,), _text(node, lines))
        case ast.ClassDef():
            header = (*node.decorator_list, *node.bases, *node.keywords)
            yield Unit(_qualified(scope, node.name), scope, line, header, ())
        case ast.Import():
            for alias in node.names:
                yield Unit("", scope, line, (ast.Import(names=[alias]),), ())
        case ast.ImportFrom():
            for alias in node.names:
                yield Unit("", scope, line, (ast.ImportFrom(node.module, [alias], node.level),), ())
        case _:
            whole = not _nested_statements(node)
            roots = (node,) if whole else tuple(_own_parts(node))
            if roots:
                yield Unit(
                    ", ".join(assigned_names(node)), scope, line, roots, _text(node, lines) if whole else ()
                )


def _text(node: ast.AST, lines: list[bytes]) -> tuple[bytes, ...]:
    starts = [node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))]  # type: ignore[attr-defined]
    return tuple(lines[min(starts) - 1 : node.end_lineno])  # type: ignore[attr-defined]


def _nested_statements(node: ast.AST) -> list[ast.AST]:
    """The statements in the bodies of an if, for, while, with, try or match."""
    holders = [node, *getattr(node, "handlers", []), *getattr(node, "cases", [])]
    bodies = (getattr(holder, field, None) for holder in holders for field in _BODIES)
    return [statement for body in bodies if isinstance(body, list) for statement in body]


def _own_parts(node: ast.AST) -> Iterator[ast.AST]:
    """What a compound statement has beside its bodies: conditions, items, patterns, exception types."""
    for holder in (node, *getattr(node, "handlers", []), *getattr(node, "cases", [])):
        for field, value in ast.iter_fields(holder):
            if field in (*_BODIES, "handlers", "cases"):
                continue
            yield from (
                part for part in (value if isinstance(value, list) else [value]) if isinstance(part, ast.AST)
            )


def assigned_names(node: ast.AST) -> list[str]:
    """The plain names that a statement assigns."""
    match node:
        case ast.Assign():
            targets: Iterable[ast.expr] = node.targets
        case ast.AnnAssign() | ast.AugAssign():
            targets = [node.target]
        case _:
            return []
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


def _qualified(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name
