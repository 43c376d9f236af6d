"""Moments of a watch as a person reads them: a log, and on a terminal the state below it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from overlaysync.cli.terminal import Terminal, clean

if TYPE_CHECKING:
    from overlaysync.model.moment import Moment

MARKS = {
    "watching": ("•", "dim"),
    "applied": ("✓", "good"),
    "unchanged": ("✓", "good"),
    "refused": ("✗", "bad"),
    "failed": ("✗", "bad"),
    "waiting": ("…", "warn"),
    "paused": ("‖", "warn"),
    "lost": ("✗", "bad"),
    "ended": ("•", "dim"),
}
RINGS = ("refused", "failed", "lost")


class Log:
    """One line for each moment, with a second one for the next step. Called with each moment."""

    def __init__(self, terminal: Terminal, *, bell: bool) -> None:
        self._terminal, self._bell = terminal, bell

    def __call__(self, moment: Moment) -> None:
        mark, style = MARKS[moment.event]
        latency = f" · {moment.latency_ms / 1000:.2f} s" if moment.latency_ms is not None else ""
        sentence = f"{moment.event}: {moment.message}".removeprefix("applied: ")
        self._terminal.line(
            f"{_clock(moment)} {self._terminal.styled(mark, style)} {clean(sentence)}{latency}", hang=11
        )
        if moment.next_step:
            self._terminal.line(f"         → {clean(moment.next_step)}")
        if self._bell and moment.event in RINGS:
            self._terminal.bell()
        self._terminal.flush()


class Screen(Log):
    """The log, and below it what is in the target, what is pending and why, and the last push."""

    def __init__(self, terminal: Terminal, *, bell: bool) -> None:
        super().__init__(terminal, bell=bell)
        self._place = self._inside = self._last = ""
        self._pending = ""
        self._board = terminal.board()

    def __enter__(self) -> Screen:
        self._board.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._board.stop()

    def __call__(self, moment: Moment) -> None:
        super().__call__(moment)
        self._note(moment)
        rows = (
            ("watching", self._place),
            ("in target", self._inside or "not known yet"),
            ("pending", self._pending or "nothing"),
            ("last push", self._last or "none yet"),
        )
        self._board.show([(name, clean(text)) for name, text in rows])

    def _note(self, moment: Moment) -> None:
        if moment.event == "watching":
            self._place = moment.message
        elif moment.event in ("applied", "unchanged"):
            overlay = moment.result.details.get("overlay", ()) if moment.result is not None else ()
            count = len(overlay)
            files = f"{count} file{'' if count == 1 else 's'} of the worktree" if count else "no overlay"
            self._inside = f"{files}, proven {_clock(moment)}"
            self._pending = ""
        else:
            self._pending = f"{moment.event}: {moment.message}"
            self._inside = moment.in_target or self._inside
        if moment.event == "applied":
            milliseconds = moment.latency_ms
            latency = f", {milliseconds / 1000:.2f} s after the change" if milliseconds is not None else ""
            self._last = f"{_clock(moment)}{latency}"


def _clock(moment: Moment) -> str:
    return datetime.fromisoformat(moment.time).astimezone().strftime("%H:%M:%S")
