"""The package's own source as syntax trees, so that what it says can be checked."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).parents[2]
SOURCE = PROJECT / "overlaysync"


class Call(NamedTuple):
    """A call by the last part of its function's name, and where it stands."""

    name: str
    node: ast.Call
    place: str


@functools.cache
def nodes() -> tuple[tuple[Path, ast.AST], ...]:
    """Every node of every module, with its file."""
    files = sorted(SOURCE.rglob("*.py"))
    return tuple((file, node) for file in files for node in ast.walk(ast.parse(file.read_text("utf-8"))))


def calls() -> Iterator[Call]:
    for file, node in nodes():
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            yield Call(name, node, f"{file.relative_to(PROJECT)}:{node.lineno}")


def argument(call: ast.Call, position: int, keyword: str) -> ast.expr | None:
    """An argument, however it is given; None where it is left out."""
    named = (item.value for item in call.keywords if item.arg == keyword)
    return call.args[position] if len(call.args) > position else next(named, None)


def texts(value: ast.expr | None) -> Iterator[str]:
    """Every text that an expression can be, as far as it is written there; "…" for what is filled in."""
    match value:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)
        case ast.IfExp(body=first, orelse=second):
            yield from texts(first)
            yield from texts(second)
        case ast.BoolOp(values=choices):
            for choice in choices:
                yield from texts(choice)
