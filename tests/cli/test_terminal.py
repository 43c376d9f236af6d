"""Nothing that came from a target or a repository reaches the terminal raw."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlaysync.cli.terminal import Terminal, clean


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain ünïcode ✓", "plain ünïcode ✓"),
        ("two\nlines", "two\\nlines"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("bell\x07", "bell\\x07"),
        ("caf\udce9.py", "caf\\udce9.py"),
        ("right\u202eleft", "right\\u202eleft"),
        ("c1 \x9b", "c1 \\x9b"),
    ],
)
def test_control_characters_are_shown_as_escapes(raw: str, shown: str) -> None:
    assert clean(raw) == shown


@given(st.text(st.characters()))
def test_clean_text_can_always_be_printed_on_one_line(text: str) -> None:
    shown = clean(text)
    assert len(shown.splitlines()) <= 1
    assert "\x1b" not in shown
    shown.encode("utf-8")


def test_columns_are_aligned_and_the_last_one_is_free(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().rows([("add", "a.py", "new"), ("replace", "long/name.py", "modified")])
    assert capsys.readouterr().out == "  add      a.py          new\n  replace  long/name.py  modified\n"


def test_a_pipe_gets_no_colour(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().line("text", "bad")
    Terminal().failure("code", "message", "next", 7)
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err
    assert captured.err == "✗ message  [code, exit 7]\n  → next\n"
