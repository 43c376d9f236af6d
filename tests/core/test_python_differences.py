"""What is known of two sides at once: that they surely do not say the same, or surely do."""

from __future__ import annotations

import argparse
import ast
import contextlib
import dataclasses
import inspect
import typing
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlaysync.core.python_differences import differ_in_names_or_values, only_comments_differ

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
        ("z = [None for x in y]", "z = [lambda: 0 for x in y]", True),
        ("# c\nclass A:\n def f(self): return b", "class A:\n def f(self): return b", False),
        (f"a = {10**5000:#x}", f"a = {10**5000 + 1:#x}", True),
    ],
)
def test_only_what_is_sure_is_said(left: str, right: str, sure: bool) -> None:
    """Where it is not, the syntax is compared."""
    assert differ(left, right) is sure


@pytest.mark.parametrize(
    ("left", "right", "only"),
    [
        ("a = 1\n", "a = 1\n# b\n", True),
        ("# c\na = 1\n", "a = 1\n", True),
        ("def f():\n    return a\n", "def f():\n    # why\n\n    return a\n", True),
        ("a = 1\r\n", "a = 1\r\n  # b\r\n\r\n", True),
        ("", "# b", True),
        ("a = 1 # b\n", "a = 1 # c\n", False),
        ("x = a \\\n+b\n", "x = a \\\n\n+b\n", False),
        ("# a \\\nb = c\n", "# b \\\nb = c\n", False),
        ("a = b + c\n", "a = b - c\n", False),
        ("a: int\n", "a: str\n", False),
        ("# a\rb = c + d\n", "# a\rb = c - d\n", False),
        ("# a\rb = c\n", "# e\rb = c\n", True),
    ],
)
def test_lines_that_say_nothing(left: str, right: str, only: bool) -> None:
    assert only_comments_differ(left.encode(), right.encode()) is only
    assert only_comments_differ(right.encode(), left.encode()) is only


CODE_LINES = st.sampled_from(
    ["a = b", "a = (", ")", "# c", "", "a = b + \\", "c", '"""', "x: int = 1", "\f# d"]
)


@given(
    st.lists(CODE_LINES, max_size=8), st.lists(CODE_LINES, max_size=8), st.sampled_from(["\n", "\r", "\r\n"])
)
def test_where_only_comments_differ_the_syntax_is_the_same(
    left: list[str], right: list[str], end: str
) -> None:
    """But for strings that stand alone, which nothing reads."""
    texts = [end.join(lines) for lines in (left, right)]
    with contextlib.suppress(SyntaxError):
        trees = [_without_lone_strings(ast.parse(text)) for text in texts]
        codes = [compile(text, "<side>", "exec") for text in texts]
        if not differ_in_names_or_values(*codes) and only_comments_differ(*map(str.encode, texts)):
            assert ast.dump(trees[0]) == ast.dump(trees[1])


def _without_lone_strings(tree: ast.Module) -> ast.Module:
    tree.body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]
    return tree
