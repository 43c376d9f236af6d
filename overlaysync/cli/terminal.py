"""The one module that owns colour, progress and layout. rich is loaded only when it is needed."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.status import Status

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
STYLES = {"good": "32", "bad": "31", "warn": "33", "dim": "2", "bold": "1", "path": "36"}
STYLED = re.compile(r"\x1b\[\d+m(.*?)\x1b\[0m")
QUIET_SECONDS = 0.5
NARROW = 24  # columns that a cell needs to be folded in
LONGEST = 8000  # characters of one text; a target may have sent 64 MiB


def clean(text: str) -> str:
    """Text for a terminal: control characters, direction marks and undecodable bytes are shown as escapes."""
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text)} characters)"
    return CONTROL.sub(lambda match: repr(match.group())[1:-1], shown)


def json_text(value: object, indent: int | None = None) -> str:
    """JSON in ASCII without any control character, also that one which JSON does not escape."""
    return json.dumps(value, indent=indent).replace("\x7f", "\\u007f")


def never_fail_to_print() -> None:
    """What the locale's encoding lacks (our marks, in ASCII) is written as an escape.

    Python has none in place of a stream that was closed; what is written there is nobody's.
    """
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115 (as long as the program)
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class Terminal:
    """Writes results to standard output, failures and progress to standard error.

    Colour and progress only on a terminal, and not with ``NO_COLOR`` or ``TERM=dumb``.
    """

    def __init__(self) -> None:
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        self._colour_out = sys.stdout.isatty() and not plain
        self._colour_err = sys.stderr.isatty() and not plain
        self._width = shutil.get_terminal_size().columns
        self._began = False

    def line(self, text: str = "", style: str | None = None, *, hang: int | None = None) -> None:
        """One line; on a terminal it is folded at blanks. Next steps stay whole.

        Args:
            hang: the column below which what is folded goes on (default: two right of where it begins).
        """
        if sys.stdout.isatty() and not text.lstrip().startswith(("→", "{", '"')):
            text = self._folded(text, hang if hang is not None else len(text) - len(text.lstrip()) + 2)
        print(self._styled(text, style, self._colour_out))
        self._began = True

    def gap(self) -> None:
        """An empty line between what was written and what follows."""
        if self._began:
            self.line()

    def _folded(self, text: str, hang: int) -> str:
        """Colour takes no room: the text is folded without it, and its pieces are coloured again."""
        plain = STYLED.sub(r"\1", text)
        if len(plain) <= self._width:
            return text
        room = self._width - max(map(len, plain.split()))  # a path is better to the left than cut in two
        folded = textwrap.fill(
            plain,
            self._width,
            subsequent_indent=" " * min(hang, max(room, 2)),
            break_long_words=False,
            break_on_hyphens=False,
        )
        for piece in STYLED.finditer(text):
            folded = folded.replace(piece[1], piece[0], 1)
        return folded

    def styled(self, text: str, style: str) -> str:
        """A piece of a line for standard output."""
        return self._styled(text, style, self._colour_out)

    def failure(self, code: str, message: str, next_step: str | None, exit_code: int) -> None:
        mark = self._styled("✗", "bad", self._colour_err)
        kind = self._styled(f"[{code}, exit {exit_code}]", "dim", self._colour_err)
        print(f"{mark} {message}  {kind}", file=sys.stderr)
        if next_step:
            print(f"  → {next_step}", file=sys.stderr)

    def rows(self, rows: Sequence[tuple[str, ...]], indent: str = "  ") -> None:
        """Rows in aligned columns, the last one as wide as it is, and folded below itself where it fits."""
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)] if rows else []
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
            before = len(indent + "  ".join([*cells, ""]))
            hang = before if before + NARROW <= self._width else None
            self.line(indent + "  ".join([*cells, row[-1]]).rstrip(), hang=hang)

    def holds(self, rows: Sequence[tuple[str, ...]]) -> bool:
        """Whether rows of these cells need not be folded; a file or a pipe holds any."""
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return not sys.stdout.isatty() or len("  ".join(" " * width for width in widths)) <= self._width

    def bell(self) -> None:
        """Rings, where a terminal listens."""
        if sys.stdout.isatty():
            print("\a", end="")

    def flush(self) -> None:
        """What was written reaches a log or a pipe now."""
        sys.stdout.flush()

    def board(self) -> _Board:
        """A few rows that stay below what is written."""
        return _Board(colour=self._colour_out)

    @staticmethod
    @contextmanager
    def reader_may_leave() -> Iterator[None]:
        """What is written in this block may go unread (``| head``); the exit code still tells the outcome."""
        try:
            yield
            sys.stdout.flush()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if not isinstance(error, BrokenPipeError):
                print(f"✗ the answer could not be written: {error.strerror}", file=sys.stderr)

    @contextmanager
    def progress(self) -> Iterator[_Progress]:
        """Shows the current stage on a terminal, once it lasts longer than half a second."""
        progress = _Progress(shown=self._colour_err)
        try:
            yield progress
        finally:
            progress.stop()

    @staticmethod
    def _styled(text: str, style: str | None, colour: bool) -> str:
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if style and colour else text


class _Progress:
    """Told of stages; a spinner appears only when there is something to wait for."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._started = time.monotonic()
        self._status: Status | None = None
        self._timer: Any = None
        self._stage = ""

    def __call__(self, stage: str) -> None:
        self._stage = stage
        if not self._shown:
            return
        if self._status is not None:
            self._status.update(f"{stage} …")
        elif self._timer is None:
            import threading

            self._timer = threading.Timer(QUIET_SECONDS, self._show)
            self._timer.daemon = True
            self._timer.start()

    def stop(self) -> None:
        self._shown = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        if self._status is not None:
            self._status.stop()

    def _show(self) -> None:
        from rich.console import Console
        from rich.status import Status

        status = Status(f"{self._stage} …", console=Console(stderr=True))
        if self._shown:
            self._status = status
            status.start()


class _Board:
    """Rows of a name and a text, kept up to date at the end of the screen."""

    def __init__(self, *, colour: bool) -> None:
        from rich.console import Console
        from rich.live import Live

        console = Console(no_color=not colour, highlight=False, markup=False)
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def start(self) -> None:
        self._live.start()

    def stop(self) -> None:
        self._live.stop()

    def show(self, rows: Sequence[tuple[str, str]]) -> None:
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True)
        table.add_column()  # the one that gives way: of two that may not fold, both would
        for name, text in rows:
            table.add_row(name, Text(text, no_wrap=True, overflow="ellipsis"))
        self._live.update(table, refresh=True)
