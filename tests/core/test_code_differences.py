"""What compiled code tells at once: that two sides surely do not say the same."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import typing
from types import ModuleType

import pytest

from overlaysync.core.definitions import differ_in_names_or_values

MODULES = (argparse, ast, dataclasses, inspect, typing, pytest)


def differ(left: str, right: str) -> bool:
    return differ_in_names_or_values(*(compile(text, "<side>", "exec") for text in (left, right)))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_other_line_breaks_and_parentheses_are_no_difference(module: ModuleType) -> None:
    source = inspect.getsource(module)
    assert not differ(source, ast.unparse(ast.parse(source)))
    assert differ(source, f"{source}\nadded = 1\n")


@pytest.mark.parametrize(
    ("left", "right", "sure"),
    [
        ("a = 1", "a = 2", True),
        ("a = b", "a = c", True),
        ("def f(a): return a", "def f(b): return b", True),
        ("def f(a): return a", "def f(a, /): return a", True),
        ("def f():\n return x in {1, 2}", "def f():\n return x in {2, 1}", False),
        ("class A:\n def f(self): return 1", "class A:\n def f(self): return 2", True),
        ("a = b + c", "a = b - c", False),
        ("a = 1", "a = 1.0", False),
        (f"a = {10**5000:#x}", f"a = {10**5000 + 1:#x}", True),
    ],
)
def test_only_what_is_sure_is_said(left: str, right: str, sure: bool) -> None:
    """Where it is not, the syntax is compared."""
    assert differ(left, right) is sure
