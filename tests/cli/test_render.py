"""What a person reads of a result."""

from __future__ import annotations

import pytest
from msgspec import structs

from overlaysync.cli.render import render
from overlaysync.cli.terminal import Terminal
from overlaysync.model.result import Result, ResultProblem


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


@pytest.mark.parametrize(
    ("exit_code", "said"),
    [
        (0, "• 1 problem in the way of a push, 0 files planned (exit 0; 1 with --check)"),
        (1, "✗ 1 problem in the way of a push, 0 files planned (exit 1)"),
    ],
)
def test_the_mark_of_a_status_is_that_of_its_exit_code(
    exit_code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = ResultProblem("native-change", "a.c", "native source modified", "rebuild the image")
    result = Result(command="status", outcome="planned", exit_code=exit_code, problems=(problem,))
    render(result, Terminal())
    assert capsys.readouterr().out.splitlines()[-1] == said
