"""Work on many items, on as many cores as there are: each part of them by a child that is forked for it."""

from __future__ import annotations

import marshal
import os
import select
import signal
import sys
import time

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
"""So many children are forked within some ms, and fit into memory beside their parent."""
PATIENCE = 60.0
"""Seconds that the others have when the parent's own part is done; longer takes only one that is stuck."""
PIECE = 1 << 20
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def in_parts(
    items: Sequence[Item], least: int, work: Work[Item, Result], codec: Codec = marshal
) -> list[Result]:
    """What ``work`` finds of all items, in their order, which it is given in parts.

    It must leave no traces that anybody looks for: those of a child end with it. It must import nothing, and
    list no directory by a handle that was open before, which is shared with the others. What it raises is
    raised here: the part of a child that came to no end is done again, by its parent.

    ``least``: so many items are worth a child.
    """
    count = max(1, min(_cores(), len(items) // least))
    bounds = [len(items) * number // count for number in range(count + 1)]
    first, *others = [items[start:end] for start, end in zip(bounds, bounds[1:])]
    children = [_Child(codec) for _ in others]
    try:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # whose handlers are the parent's affair
        try:
            for part, child in zip(others, children):
                child.begin(work, part)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        found = work(first)
        deadline = time.monotonic() + PATIENCE
        for part, child in zip(others, children):
            answer: list[Result] | None = child.answer(deadline)
            found += work(part) if answer is None else answer
    finally:
        for child in children:
            child.end()
    return found


def _cores() -> int:
    """Those that this process may use. On macOS what the system's libraries do in threads forbids to fork."""
    return min(len(os.sched_getaffinity(0)), MOST) if sys.platform == "linux" else 1


class _Child:
    """A process that does one part."""

    def __init__(self, codec: Codec) -> None:
        self._codec, self._pid, self._reading = codec, -1, -1

    def begin(self, work: Work[Item, Result], part: Sequence[Item]) -> None:
        """Forks it; nothing begins where there is no room for a pipe or another process."""
        try:
            self._reading, writing = os.pipe()
        except OSError:
            return
        try:
            self._pid = os.fork()
            if self._pid == 0:
                _do(work, part, self._codec, self._reading, writing)
        except OSError:
            pass
        finally:
            os.close(writing)

    def answer(self, deadline: float) -> list[Result] | None:
        """What it found; None where it came to no end, or not in time."""
        if self._pid < 0:
            return None
        readable = select.poll()
        readable.register(self._reading, select.POLLIN)
        said, piece = [], b"begun"
        while piece:
            left = deadline - time.monotonic()
            if left <= 0 or not readable.poll(left * 1000):
                return None
            piece = os.read(self._reading, PIECE)
            said.append(piece)
        return self._codec.loads(b"".join(said)) if any(said) and self._wait() == 0 else None

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


def _do(work: Work[Item, Result], part: Sequence[Item], codec: Codec, reading: int, writing: int) -> NoReturn:
    """Does a part and ends, with what was inherited left as it is; also where nobody is left to be told."""
    status = 1
    try:
        os.close(reading)  # else what it says could wait for itself to read it
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        with os.fdopen(writing, "wb") as stream:
            stream.write(codec.dumps(work(part)))
        status = 0
    finally:
        os._exit(status)
