"""One thing is no things."""

from __future__ import annotations

import pytest

from overlaysync.core.counting import counted


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (counted(0, "file"), "0 files"),
        (counted(1, "file"), "1 file"),
        (counted(2, "file"), "2 files"),
        (counted(1, "process", "processes"), "1 process"),
        (counted(3, "process", "processes"), "3 processes"),
    ],
)
def test_what_is_said(said: str, expected: str) -> None:
    assert said == expected
