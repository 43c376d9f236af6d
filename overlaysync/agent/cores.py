"""Work on many items, on as many cores as there are: each part of them by a child that is forked for it."""

from __future__ import annotations

import marshal
import os
import signal
import sys

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn, Protocol, TypeVar

    Item = TypeVar("Item")
    Result = TypeVar("Result")
    Work = Callable[[Sequence[Item]], list[Result]]

    class Codec(Protocol):
        """How results get from a child to its parent: ``marshal``, or what knows more types."""

        def dumps(self, value: Any, /) -> bytes: ...

        def loads(self, said: bytes, /) -> Any: ...


MOST = 16
"""Children share their parent's memory only until one of them writes to it."""


def in_parts(
    items: Sequence[Item], least: int, work: Work[Item, Result], codec: Codec = marshal
) -> list[Result]:
    """What ``work`` finds of all items, in their order, which it is given in parts.

    It must leave no traces that anybody looks for: those of a child end with it. What it raises is raised
    here: the part of a child that came to no end is done again, by its parent.

    ``least``: so many items are worth a child.
    """
    count = max(1, min(_cores(), len(items) // least))
    bounds = [len(items) * number // count for number in range(count + 1)]
    first, *others = [items[start:end] for start, end in zip(bounds, bounds[1:])]
    children: list[_Child] = []
    try:
        children.extend(_Child(work, part, codec) for part in others)
        found = work(first)
        for part, child in zip(others, children):
            answer: list[Result] | None = child.answer()
            found += work(part) if answer is None else answer
    finally:
        for child in children:
            child.end()
    return found


def _cores() -> int:
    """Those that this process may use; one where it may have threads that no child survives (macOS)."""
    return min(len(os.sched_getaffinity(0)), MOST) if sys.platform == "linux" else 1


class _Child:
    """A process that does one part."""

    def __init__(self, work: Work[Item, Result], part: Sequence[Item], codec: Codec) -> None:
        self._codec = codec
        self._reading, writing = os.pipe()
        try:
            self._pid = os.fork()
        except OSError:
            self._pid = -1  # there is no room for another process
        if self._pid == 0:
            _do(work, part, codec, writing)
        os.close(writing)

    def answer(self) -> list[Result] | None:
        """What it found; None where it came to no end."""
        with os.fdopen(self._reading, "rb") as stream:
            self._reading = -1
            said = stream.read()
        return self._codec.loads(said) if self._wait() == 0 else None

    def _wait(self) -> int:
        pid, self._pid = self._pid, -1
        try:
            return os.waitpid(pid, 0)[1] if pid > 0 else -1
        except ChildProcessError:
            return -1  # whoever ignores SIGCHLD is not told

    def end(self) -> None:
        """Nothing is left of it; may be called again."""
        if self._reading >= 0:
            os.close(self._reading)
            self._reading = -1
        if self._pid > 0:
            try:
                os.kill(self._pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self._wait()


def _do(work: Work[Item, Result], part: Sequence[Item], codec: Codec, writing: int) -> NoReturn:
    """Does a part and ends, with what was inherited left as it is."""
    status = 1
    try:
        with os.fdopen(writing, "wb") as stream:
            stream.write(codec.dumps(work(part)))
        status = 0
    finally:
        os._exit(status)
