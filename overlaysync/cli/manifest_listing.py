"""The records as a person tells one from another: when, what, into which target, out of which worktree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from overlaysync.cli.manifest_view import DIGITS, local_time
from overlaysync.cli.terminal import Terminal, clean
from overlaysync.core.counting import counted


def show(records: Sequence[dict[str, Any]], terminal: Terminal) -> None:
    """One record on a line; on two where the terminal is too narrow for that."""
    folders = Counter(PurePath(root).name for root in {record["root"] for record in records})
    heads: list[tuple[str, ...]] = []
    tails: list[tuple[str, ...]] = []
    for record in records:
        when = local_time(record["time"], "%Y-%m-%d %H:%M:%S")
        held = counted(record["overlay"], "file") if record["overlay"] else "no overlay"
        heads.append(_cells(record["name"], when, record["command"], held))
        tails.append(_cells(record["target"], record["distribution"], _worktree(record, folders)))
    rows = [(*head, *tail) for head, tail in zip(heads, tails, strict=True)]
    if terminal.holds(rows):
        terminal.rows(rows, indent="")
        return
    hang = " " * (max((len(head[0]) for head in heads), default=0) + 2)
    widths = [max(len(head[column]) for head in heads) for column in range(len(heads[0]))]
    for head, tail in zip(heads, tails, strict=True):
        terminal.line("  ".join(cell.ljust(width) for cell, width in zip(head, widths, strict=True)).rstrip())
        terminal.line(hang + " · ".join(tail), "dim", hang=len(hang))


def _cells(*texts: str) -> tuple[str, ...]:
    return tuple(map(clean, texts))


def _worktree(record: dict[str, Any], folders: Counter[str]) -> str:
    """Its directory, by its whole path where another one has the same name; and its branch."""
    root = record["root"]
    folder = PurePath(root).name
    place = folder if folder and folders[folder] == 1 else root
    return f"{place} ({record['branch'] or 'detached'}{', by port' if record['ported'] else ''})"


def show_difference(details: dict[str, Any], terminal: Terminal) -> None:
    """What differs from one record to the other, named above it."""
    difference = details["difference"]
    one = difference["before"] == difference["after"]
    show([details["after"]] if one else [details["before"], details["after"]], terminal)
    terminal.gap()
    if details["same"]:
        why = "both are one record" if one else "the same overlay on the same ground"
        terminal.line(f"nothing differs: {why}")
    for fact in difference["facts"]:
        before, after = (value or "none" for value in (fact["before"], fact["after"]))
        terminal.line(clean(f"{fact['name']}: {before} → {after}"))
    for sign, name in (("+", "added"), ("-", "removed")):
        for item in difference[name]:
            gone = " (the file is removed there)" if item["installed_sha256"] is None else ""
            terminal.line(f"{sign} {clean(item['destination'])}{gone}")
    for pair in difference["changed"]:
        before, after = (_content(pair[side]["installed_sha256"]) for side in ("before", "after"))
        terminal.line(f"~ {clean(pair['after']['destination'])}: {before} → {after}")


def _content(digest: str | None) -> str:
    return "no file" if digest is None else digest[:DIGITS]
