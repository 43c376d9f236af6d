"""No count is said of "1 files": what may be one goes through ``counted``."""

from __future__ import annotations

import ast
import re

from tests.docs.source import nodes

COUNT = re.compile(r"(len\(|count|\.compared|number)")
THINGS = re.compile(
    r"\A (?:more )?(?:installed )?(?:files|paths|pairs|problems|findings|names|processes|characters)\b"
)
OTHERWISE = {"terminal.py", "report.py"}
"""Where the number is more than one: of a text that is too long, and of hard links."""


def test_a_number_of_things_is_counted() -> None:
    found = []
    for file, node in nodes():
        if not isinstance(node, ast.JoinedStr) or file.name in OTHERWISE:
            continue
        for value, text in zip(node.values, node.values[1:], strict=False):
            plain = (
                isinstance(text, ast.Constant) and isinstance(text.value, str) and THINGS.match(text.value)
            )
            if plain and isinstance(value, ast.FormattedValue) and COUNT.search(ast.unparse(value.value)):
                found.append(f"{file.name}:{node.lineno}")
    assert found == []
