"""Python source judged definition by definition: is what changed a foreign binding or a JIT kernel?"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

from overlaysync.core import bindings, definitions, kernels
from overlaysync.core.definitions import Unit
from overlaysync.core.finding import Finding, Judgement, listed, printable
from overlaysync.core.imported_names import Names, read
from overlaysync.core.python_differences import differ_in_names_or_values, only_comments_differ

FORMATTING_ONLY = "comments or formatting only"
NO_PYTHON = (SyntaxError, ValueError)
"""What parser and compiler raise for a text that is no Python of this version; the latter for NUL bytes."""
PARSER_FAILURES = (*NO_PYTHON, RecursionError, MemoryError)
"""The last two say nothing of the text: the same one may be parsed with more room."""

_WORDS = bytes(
    byte if (chr(byte).isalnum() and byte < 128) or byte == ord("_") else ord(" ") for byte in range(256)
)
"""Turns what can be in no identifier into spaces."""
_PARTS = tuple(part.encode("ascii") for part in bindings.PARTS)
_HINTS = frozenset(hint.encode("ascii") for hint in bindings.HINTS | kernels.HINTS)
_LARGE = 1 << 20
_HEADER_LINES, _HEADER_COLUMNS = 10, 400
_GENERATED = re.compile(
    rb"^\s*(#|\"\"\"|''').*(generated (by|from)|auto-?generated|do not edit)", re.IGNORECASE
)

_OF_THIS_PROCESS = ("codec", "encoding", "limit", "too many", "too deep", "recursion")
"""In what Python says of a text that another process could take."""

_SENTENCES = {
    "binding-change": "declares or calls compiled operators",
    "jit-change": "compiled at run time",
}


class Side(NamedTuple):
    """One side of a file, parsed. ``names``: what the imports and assignments of the module bind."""

    tree: ast.Module
    units: list[Unit]
    names: Names


def judge_python(before: bytes | None, after: bytes | None) -> Judgement:
    """Compare two sides of a Python file.

    Args:
        before: HEAD's content; None for a new file, all of whose definitions count as changed.
        after: the worktree's content; None for a removed file, all of whose definitions count as removed.
    """
    try:
        new = _compile(after)
    except PARSER_FAILURES as error:
        return Judgement((Finding("syntax-error", _syntax_message(error), _is_of_the_grammar(error)),))
    try:
        old = _compiled_if_it_can_be(before)
        if not (_is_plain(after, new) and _is_plain(before, old)):
            return _judge_sides(before, after)
        if old is not None and differ_in_names_or_values(old, new):
            return Judgement(note=_note(before, after))
        if old is not None and only_comments_differ(before or b"", after or b""):
            return Judgement(note=FORMATTING_ONLY)
        return _judge_plain(before, after)
    except PARSER_FAILURES as error:
        return Judgement((Finding("syntax-error", _syntax_message(error)),))


def _is_of_the_grammar(error: BaseException) -> bool:
    """Whether every Python of this version says the same, whatever its limits and registered codecs are."""
    return isinstance(error, SyntaxError) and not any(word in error.msg for word in _OF_THIS_PROCESS)


def _is_plain(content: bytes | None, code: CodeType | None) -> bool:
    """Whether neither names nor texts of a file can be a binding or a kernel."""
    return code is not None and not _may_be_foreign(content) and not kernels.holds_text(code)


def _compiled_if_it_can_be(content: bytes | None) -> CodeType | None:
    try:
        return _compile(content)
    except NO_PYTHON:
        return None


def _may_be_foreign(content: bytes | None) -> bool:
    """Whether a binding or a kernel can be named in a file; taking it apart takes many times as long."""
    if content is None:
        return False
    first_lines = content.split(b"\n", 2)[:2]
    if not content.isascii() or any(b"coding" in line for line in first_lines):
        return True  # identifiers are normalised, and a declared coding (PEP 263) may spell them otherwise
    if len(content) > _LARGE and not any(hint in content for hint in (*_HINTS, *_PARTS)):
        return False  # its words, one by one, would take up several times its size
    words = set(content.translate(_WORDS).split())
    if words.isdisjoint(_HINTS) and not any(part in content for part in _PARTS):
        return False
    identifiers = {word.decode("ascii") for word in words}
    return bindings.can_be_named(identifiers) or kernels.can_be_named(identifiers)


def parse(content: bytes | None) -> Side:
    """Cut a file into its units; no content is an empty file. Raises ``PARSER_FAILURES``."""
    tree = _syntax(content)
    units = definitions.units(tree, content or b"")
    names = Names().bind([root for unit in units if unit.function is None for root in unit.roots])
    return Side(tree, units, names)


def _syntax(content: bytes | None) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of invalid escapes, which are the file's affair
        return ast.parse(content or b"")


def _compile(content: bytes | None) -> CodeType:
    """Compiling refuses what parsing lets through, such as a ``return`` outside of a function."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code: CodeType = compile(content or b"", "<worktree>", "exec", dont_inherit=True, optimize=0)
        return code


def _syntax_message(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        place = f"line {error.lineno}: " if error.lineno else ""
        return printable(f"{place}{error.msg}")
    return printable(f"cannot be parsed, {type(error).__name__}: {error}")


def _judge_plain(before: bytes | None, after: bytes | None) -> Judgement:
    """Of two sides that can name nothing foreign, only whether they say the same."""
    new = _syntax(after)
    try:
        old = _syntax(before)
    except NO_PYTHON:
        old = _syntax(None)
    return Judgement(note=FORMATTING_ONLY if definitions.same_syntax(old, new) else _note(before, after))


def _judge_sides(before: bytes | None, after: bytes | None) -> Judgement:
    new, note = parse(after), _note(before, after)
    try:
        old = parse(before)
    except NO_PYTHON:
        # HEAD's side is no Python of the host's version: nothing to pair with, so everything is new.
        old = parse(None)
    removed, written = definitions.difference(old.units, new.units)
    if not removed and not written:
        same = definitions.same_syntax(old.tree, new.tree)
        return Judgement(note=FORMATTING_ONLY if same else note)
    evidence = [*_evidence(new, written), *_evidence(old, removed)]
    written_names = {unit.name for unit in written if unit.name}
    findings = []
    for code, sentence in _SENTENCES.items():
        titles: dict[str, str] = {}
        for unit, its_code, reason in evidence:
            if its_code == code:
                state = "" if unit in written else " before" if unit.name in written_names else " removed"
                titles.setdefault(unit.name or f"{unit.title}{state}", f"{unit.title}{state}: {reason}")
        if titles:
            findings.append(Finding(code, f"{sentence}: {listed(list(titles.values()))}"))
    return Judgement(tuple(findings), note)


def _evidence(side: Side, changed: list[Unit]) -> Iterator[tuple[Unit, str, str]]:
    """The changed definitions of a side that need an acknowledgement, each with problem code and reason."""
    read_by = kernels.read_by_kernels(side.units, side.names) if changed else {}
    for unit in changed:
        reading = read(unit.nodes, side.names)
        binding = bindings.evidence(reading)
        if binding:
            yield unit, "binding-change", binding
        kernel = kernels.evidence(reading)
        if kernel:
            yield unit, "jit-change", kernel
        elif unit in read_by:
            yield unit, "jit-change", f"read by kernel {read_by[unit]}"


def _note(before: bytes | None, after: bytes | None) -> str | None:
    if before is None:
        note = "new file, all of its definitions count as changed"
    elif after is None:
        note = "removed file, all of its definitions count as removed"
    else:
        note = ""
    lines = (after or before or b"").split(b"\n", _HEADER_LINES)[:_HEADER_LINES]
    if any(_GENERATED.match(line[:_HEADER_COLUMNS]) for line in lines):
        generated = "its first lines say that it is generated"
        note = f"{note}; {generated}" if note else generated
    return note or None
