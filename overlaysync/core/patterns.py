"""gitignore patterns (gitignore(5)), as the configuration and build files have them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

UNWRITABLE = r"\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
"""What no configuration holds, as a class of characters: controls, direction marks, undecodable bytes."""

_SPECIAL = re.compile(r"[\\*?\[]")
_UNWRITABLE = re.compile(f"[{UNWRITABLE}]")
_LAST_BLANKS = re.compile(r"\s(?=\s*\Z)")  # which would be no part of the pattern


class Patterns:
    """Lines of patterns. What matches them is imported and made when the first path is asked for.

    Most runs have no pattern, and ask nothing of those that are built in.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = tuple(lines)
        self._made: GitIgnoreSpec | None = None

    def match(self, path: str) -> bool:
        if not self._lines:
            return False
        if self._made is None:
            from pathspec import GitIgnoreSpec

            self._made = GitIgnoreSpec.from_lines(self._lines)
        return self._made.match_file(path)


def pattern_for(path: str) -> str:
    """A pattern that matches this path of the repository and no other.

    Only where the path has a character that no configuration holds, ``?`` stands for it, which also matches
    any other character there.
    """
    literal = _UNWRITABLE.sub("?", _SPECIAL.sub(r"\\\g<0>", path))
    return "/" + _LAST_BLANKS.sub(r"[\g<0>]", literal)


def quoted_pattern(path: str) -> str:
    """The same as a string of TOML, to be written into a configuration."""
    # A JSON string of such characters is a basic string of TOML.
    return json.dumps(pattern_for(path), ensure_ascii=False)
