"""Packages whose ``__init__`` changes where their modules are found (``__path__``), told by its syntax."""

from __future__ import annotations

import ast
import warnings

from overlaysync.core.python_source import PARSER_FAILURES

PATH = "__path__"
HARMLESS_METHODS = ("append", "extend", "copy", "count", "index")
"""What reads the list, or adds behind the package's own directory, which so stays the first."""


def may_come_first(source: bytes) -> bool:
    """Whether running an ``__init__`` may put another directory before the package's own.

    A module that is found there runs in place of the one beside the ``__init__``, which no look at the
    search path shows: ``__path__`` is made anew when the package runs.
    """
    if PATH.encode() not in source:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except PARSER_FAILURES:
        return True  # of a newer Python than ours, or no Python at all: what it does is not known
    return any(_changes_front(node) for node in ast.walk(tree))


def _changes_front(node: ast.AST) -> bool:
    if isinstance(node, (ast.Assign, ast.Delete)):
        targets, value = node.targets, getattr(node, "value", None)
    elif isinstance(node, ast.AnnAssign):
        targets, value = [node.target], node.value or node.target
    elif isinstance(node, ast.AugAssign):
        harmless = isinstance(node.op, ast.Add) and _is_path(node.target)
        targets, value = [node.target], node.target if harmless else None
    elif isinstance(node, ast.Call):
        return _calls_changer(node)
    else:
        return False
    elements = [part for target in targets for part in getattr(target, "elts", [target])]
    named = any(_is_path(element) for element in elements)
    inside = any(isinstance(element, ast.Subscript) and _is_path(element.value) for element in elements)
    return inside or (named and not _keeps_first(value))


def _calls_changer(call: ast.Call) -> bool:
    function = call.func
    if isinstance(function, ast.Attribute) and _is_path(function.value):
        return function.attr not in HARMLESS_METHODS
    words = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
    return isinstance(function, ast.Name) and function.id == "setattr" and PATH in words


def _is_path(node: ast.AST) -> bool:
    """The package's own ``__path__``: by its name, by ``globals()`` or ``sys.modules[__name__]``."""
    if isinstance(node, ast.Name):
        return node.id == PATH
    return ast.unparse(node) in (
        f"globals()['{PATH}']",
        f"sys.modules[__name__].{PATH}",
    )


def _keeps_first(value: ast.AST | None) -> bool:
    """Whether a value of ``__path__`` still begins with what it began with."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return _keeps_first(value.left)
    if isinstance(value, (ast.List, ast.Tuple)) and value.elts:
        first = value.elts[0]
        return isinstance(first, ast.Starred) and _keeps_first(first.value)
    if isinstance(value, ast.Call) and value.args:
        name = getattr(value.func, "attr", getattr(value.func, "id", ""))
        return name in ("extend_path", "list") and _keeps_first(value.args[0])
    return value is not None and _is_path(value)
