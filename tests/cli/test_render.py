"""What a person reads of a result."""

from __future__ import annotations

import pytest
from msgspec import structs

from overlaysync.cli.render import render
from overlaysync.cli.terminal import Terminal
from overlaysync.model.result import Result


@pytest.mark.parametrize(
    ("files", "shown"),
    [
        (["a.py"], "overlay   a.py"),
        (["a.py", "b.py", "c.py"], "overlay   a.py, b.py, c.py"),
        (
            ["a.py", "b.py", "c.py", "d.py", "\n.py"],
            "overlay   a.py, b.py, c.py, … and 2 more (all of them: --json)",
        ),
        (["\n.py"], "overlay   \\n.py"),
    ],
)
def test_the_files_of_an_overlay_are_named(
    files: list[str], shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    render(Result(command="status", outcome="unchanged", exit_code=0, details={"overlay": files}), Terminal())
    assert shown in capsys.readouterr().out.splitlines()


def test_what_is_said_begins_in_the_first_line(capsys: pytest.CaptureFixture[str]) -> None:
    details = {"sentence": "installed", "notes": ["a note"]}
    result = Result(command="hook install", outcome="applied", exit_code=0, details=details)
    render(result, Terminal())
    assert capsys.readouterr().out == "notes:\n  a note\n\n✓ installed\n"
    render(structs.replace(result, details={"sentence": "installed"}), Terminal())
    assert capsys.readouterr().out == "✓ installed\n"


def test_no_overlay_is_not_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    render(Result(command="status", outcome="unchanged", exit_code=0, details={"overlay": []}), Terminal())
    assert "overlay" not in capsys.readouterr().out
