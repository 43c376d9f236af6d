"""Build languages without their comments and blanks, so that only what a build tool reads is compared."""

from __future__ import annotations

import re

_CMAKE = re.compile(
    r"""(?P<dropped> \#\[(?P<c>=*)\[ .*? \](?P=c)\] | \#[^\n]* | \s+ )
      | (?P<kept> "(?:\\.|[^"\\])*" | \[(?P<a>=*)\[ .*? \](?P=a)\] | [^\s"\#\[]+ | . )""",
    re.DOTALL | re.VERBOSE,
)
"""Comments, quoted and bracket arguments: https://cmake.org/cmake/help/latest/manual/cmake-language.7.html"""

_MESON = re.compile(
    r"""(?P<dropped> \#[^\n]* | [^\S\n]+ )
      | (?P<kept> '''.*?''' | '(?:\\.|[^'\\\n])*' | \n\s* | [^\s'\#]+ | . )""",
    re.DOTALL | re.VERBOSE,
)
"""https://mesonbuild.com/Syntax.html: line ends separate statements, so they are kept."""


def cmake_tokens(text: str) -> list[str]:
    return _kept(_CMAKE, text)


def meson_tokens(text: str) -> list[str]:
    kept: list[str] = []
    for part in _kept(_MESON, text):
        line_end = part.isspace()
        # A comment on a line of its own leaves two line ends behind it.
        if not (line_end and kept[-1:] == ["\n"]):
            kept.append("\n" if line_end else part)
    return kept


def lines_without_comments(text: str) -> list[str]:
    """Lines that are neither blank nor a comment from their first character, as in Makefiles and MANIFEST.in.

    A line continued with a backslash is left alone, and so is the one after it: there ``#`` may be content.
    """
    kept: list[str] = []
    continued = False
    for line in text.splitlines():
        continues = line.endswith("\\")
        comment = not line.strip() or line.startswith("#")
        if continued or continues or not comment:
            kept.append(line.rstrip())
        continued = continues
    return kept


def _kept(language: re.Pattern[str], text: str) -> list[str]:
    return [match["kept"] for match in language.finditer(text) if match["kept"] is not None]
