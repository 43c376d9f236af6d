"""A moment in one sentence."""

from __future__ import annotations

import pytest

from overlaysync.core.moments import told


@pytest.mark.parametrize(
    ("event", "message", "sentence"),
    [
        ("refused", "the baseline is not proven", "refused: the baseline is not proven"),
        ("applied", "applied: 1 file, read back", "applied: 1 file, read back"),
        ("waiting", "", "waiting: "),
    ],
)
def test_an_event_is_said_once(event: str, message: str, sentence: str) -> None:
    assert told(event, message) == sentence
