"""The committed list of hostile inputs is that of the tests."""

from __future__ import annotations

from tests.fuzzing.page import PAGE, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
