"""Which record is which, in a list of them."""

from __future__ import annotations

from typing import Any

import pytest

from overlaysync.cli.manifest_listing import show, show_difference
from overlaysync.cli.terminal import Terminal

RECORD: dict[str, Any] = {
    "id": "20261129T161500.250Z-3f9c2a",
    "name": "3f9c2a",
    "time": "2026-11-29T16:15:00+00:00",
    "command": "push",
    "overlay": 1,
    "target": "docker:my-dev",
    "distribution": "sample 1.0",
    "root": "/home/dev/sample",
    "branch": "main",
    "ported": False,
}


def shown(capsys: pytest.CaptureFixture[str], *others: dict[str, Any]) -> list[list[str]]:
    """The cells of each line after the time, with the name before them."""
    show([{**RECORD, **other} for other in others], Terminal())
    lines = capsys.readouterr().out.splitlines()
    return [[cell.strip() for cell in line.split("  ") if cell] for line in lines]


def test_what_a_line_tells(capsys: pytest.CaptureFixture[str]) -> None:
    [[name, when, *cells]] = shown(capsys, {})
    assert name == "3f9c2a"
    assert when[:8] == "2026-11-" and len(when) == 19
    assert cells == ["push", "1 file", "docker:my-dev", "sample 1.0", "sample (main)"]


def test_worktrees_and_branches_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    others: list[dict[str, Any]] = [
        {"root": "/home/dev/other/sample", "branch": None},
        {"root": "/home/dev/third", "ported": True},
        {"root": "/"},
    ]
    assert [line[-1] for line in shown(capsys, {}, *others)] == [
        "/home/dev/sample (main)",
        "/home/dev/other/sample (detached)",
        "third (main, by port)",
        "/ (main)",
    ]


def test_nothing_of_a_record_reaches_the_terminal_raw(capsys: pytest.CaptureFixture[str]) -> None:
    [line] = shown(capsys, dict.fromkeys(("time", "command", "target", "root", "branch"), "\x1b[2J"))
    assert line.count("\\x1b[2J") == 3 and line[-1] == "\\x1b[2J (\\x1b[2J)"


def test_no_record_is_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys) == []


def difference(**more: Any) -> dict[str, Any]:
    """What ``manifest diff`` has to tell of two records that do not differ."""
    told = {"before": "one", "after": "other", "facts": [], "added": [], "removed": [], "changed": [], **more}
    return {"before": RECORD, "after": {**RECORD, "name": "bbbb"}, "difference": told, "same": not more}


def test_that_nothing_differs_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    show_difference(difference(), Terminal())
    *records, _, said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in records] == ["3f9c2a", "bbbb"]
    assert said == "nothing differs: the same overlay on the same ground"


def test_a_record_and_itself(capsys: pytest.CaptureFixture[str]) -> None:
    show_difference({**difference(before="one", after="one"), "same": True}, Terminal())
    record, _, said = capsys.readouterr().out.splitlines()
    assert record.startswith("bbbb")
    assert said == "nothing differs: both are one record"


def test_what_differs_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    facts = [{"name": "branch", "before": None, "after": "main"}]
    changed = {
        "before": {"installed_sha256": "a" * 64},
        "after": {"installed_sha256": None, "destination": "c.py"},
    }
    added = [{"destination": "a.py", "installed_sha256": None}]
    removed = [{"destination": "b\n.py", "installed_sha256": "b" * 64}]
    show_difference(difference(facts=facts, added=added, removed=removed, changed=[changed]), Terminal())
    assert capsys.readouterr().out.splitlines()[3:] == [
        "branch: none → main",
        "+ a.py (the file is removed there)",
        "- b\\n.py",
        "~ c.py: aaaaaaaaaaaa → no file",
    ]
