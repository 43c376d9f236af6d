"""Where a running Python looks for modules first: beside its script, or in its working directory."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from collections.abc import Sequence

WITH_VALUE = b"WX"
"""Options whose value may be the next word; ``-c`` and ``-m`` end the options."""


def first_on_path(command: Sequence[bytes], safe: bool, directory: bytes | None) -> bytes | None:
    """The first entry of ``sys.path``, links resolved; None where there is none of its own, or it is unknown.

    ``safe``: ``PYTHONSAFEPATH`` is set. ``directory``: the working directory.
    """
    if directory is None:
        return None
    words = list(command[1:])
    while words and words[0].startswith(b"-") and words[0] != b"-":
        word = words.pop(0)
        if word.startswith(b"--"):
            del words[: word == b"--check-hash-based-pycs"]
            continue
        for place, letter in enumerate(word[1:], 2):
            option = bytes([letter])
            safe = safe or option in b"IP"
            if option in b"cm":
                return None if safe else directory
            if option in WITH_VALUE:
                del words[: place == len(word)]  # else the rest of this word is the value
                break
    if safe:
        return None
    if not words or words[0] == b"-":
        return directory
    script = os.path.realpath(os.path.join(directory, words[0]))
    return script if os.path.isdir(script) else os.path.dirname(script)
