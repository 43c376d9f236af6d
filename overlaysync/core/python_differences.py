"""What two sides of a Python file differ in, found out without taking them apart, where that is sure."""

from __future__ import annotations

from types import CodeType

from overlaysync.core.definitions import LINE_END

_SAID_BY_CODE = (
    "co_name",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_flags",
)


def differ_in_names_or_values(left: CodeType, right: CodeType) -> bool:
    """Whether two modules surely do not say the same: found out by their code, without taking them apart.

    Of instructions nothing is concluded: where they lie depends on line breaks.
    """
    pending = [(left, right)]
    while pending:
        one, other = pending.pop()
        if any(getattr(one, field) != getattr(other, field) for field in _SAID_BY_CODE):
            return True
        values = [_values(code) for code in (one, other)]
        if values[0] != values[1]:
            return True
        inner = [[item for item in code.co_consts if isinstance(item, CodeType)] for code in (one, other)]
        pending.extend(zip(*inner, strict=True))
    return False


def _values(code: CodeType) -> list[object]:
    """The constants of code; of code in it, only that it is there.

    Python 3.13 and later keep the line of a class in its ``__firstlineno__``: of its numbers nothing is said.
    """
    numbers = int if "__firstlineno__" in code.co_names else CodeType
    return [type(item) if isinstance(item, (CodeType, numbers)) else item for item in code.co_consts]


def only_comments_differ(before: bytes, after: bytes) -> bool:
    """Whether all lines that differ are comments or blank, of two texts whose code has the same values.

    So they are in no string that counts; and none of them, nor the line before, is continued by a backslash.
    """
    old, new = LINE_END.split(before), LINE_END.split(after)
    shorter = min(len(old), len(new))
    start = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    end = next((at for at in range(shorter - start) if old[-1 - at] != new[-1 - at]), shorter - start)
    differing = [*old[start : len(old) - end], *new[start : len(new) - end]]
    around = [*old[max(start - 1, 0) : start], *differing]
    return all(_says_nothing(line) for line in differing) and not any(line.endswith(b"\\") for line in around)


def _says_nothing(line: bytes) -> bool:
    text = line.strip()
    return not text or text.startswith(b"#")
