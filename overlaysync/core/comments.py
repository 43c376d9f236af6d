"""Build languages without their comments and blanks, so that only what a build tool reads is compared."""

from __future__ import annotations

import re

_CMAKE = re.compile(
    r"""(?: \#\[(?P<c>=*)\[ .*? \](?P=c)\] | \#[^\n]* | \s+ )
      | (?P<kept> "(?:\\.|[^"\\])*" | \[(?P<a>=*)\[ .*? \](?P=a)\] | [^\s"\#\[()]+ | . )""",
    re.DOTALL | re.VERBOSE,
)
"""Comments, quoted and bracket arguments: https://cmake.org/cmake/help/latest/manual/cmake-language.7.html"""

_MESON = re.compile(
    r"""(?: \#[^\n]* | [^\S\n]+ )
      | (?P<kept> '''.*?''' | '(?:\\.|[^'\\\n])*' | \n | [^\s'\#]+ | . )""",
    re.DOTALL | re.VERBOSE,
)
"""https://mesonbuild.com/Syntax.html: line ends separate statements, so they are kept."""

_MESON_VERSION = re.compile(r"(^project\([^)]*?\bversion\s*:\s*)'[^'\n]*'", re.MULTILINE)
_ROOT_FILES = re.compile(r"\s*(include|exclude)(\s+[^\s/]+)+\s*")


def cmake_tokens(text: str) -> list[str]:
    return _parts(_CMAKE, text, frozenset("()"))


def meson_tokens(text: str) -> list[str]:
    if "project_version" not in text:  # nothing of the file can use it
        text = _MESON_VERSION.sub(r"\1''", text, count=1)
    parts = _parts(_MESON, text.rstrip() + "\n", frozenset("\n"))
    # Blank lines, and the lines that comments stood on, leave several line ends in a row.
    return [part for at, part in enumerate(parts) if part != "\n" or (at and parts[at - 1] != "\n")]


def _parts(language: re.Pattern[str], text: str, absorbing: frozenset[str]) -> list[str]:
    """The parts of a text, with one space for comments and blanks, and none beside an absorbing part.

    A space may separate (``a "b"`` is not ``a"b"``), so it is not dropped everywhere.
    """
    parts = [match["kept"] or " " for match in language.finditer(text)]
    found: list[str] = []
    for part, following in zip(parts, [*parts, None][1:], strict=True):
        before = found[-1] if found else None
        droppable = (None, " ", *absorbing)
        if part != " " or (before not in droppable and following not in droppable):
            found.append(part)
    return found


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


def manifest_lines(text: str) -> list[str]:
    """Lines of a ``MANIFEST.in`` without those that speak of files at the root alone, which no package holds.

    There ``*`` matches no slash
    (https://setuptools.pypa.io/en/latest/userguide/miscellaneous.html#controlling-files-in-the-distribution).
    """
    return [line for line in lines_without_comments(text) if not _ROOT_FILES.fullmatch(line)]
