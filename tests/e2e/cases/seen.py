"""What the tests of the failure cases saw, and the page that is made of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cases.catalogue import FAILURES, GROUPS
from tests.e2e.scenario import codes

PAGE = Path(__file__).parents[3] / "docs" / "cases.md"
TRAP, CONTROL = "trap", "control"
PROPERTY = "failure-case"

Sighting = tuple[str, str, str]
"""Identifier of the case, ``trap`` or ``control``, and what came of it."""

INTRODUCTION = """\
# Failures from the field

Each of these was met by somebody, and cost days. Each is reproduced in `tests/e2e/cases` for real: a
container, a repository, an interpreter. **Seen** is what overlaysync did in the reproduction; **control** is
what it did with the same steps without the trap. The tests assert more than the two columns show.

This page is written by `pytest tests/e2e/cases --write-cases`, and CI fails where it would be another.
"""


@dataclass
class Case:
    """Takes down what a test sees of its cases."""

    identifiers: Sequence[str]
    sightings: list[Sighting]

    def trap(self, answer: Any, note: str = "") -> Any:
        """An answer of ``--json`` where the trap lies; ``note`` says what it does not. Returns the answer."""
        return self._take_down(TRAP, answer, note)

    def control(self, answer: Any, note: str = "") -> Any:
        """An answer to the same steps without the trap. Returns the answer."""
        return self._take_down(CONTROL, answer, note)

    def _take_down(self, role: str, answer: Any, note: str) -> Any:
        self.sightings += [(identifier, role, tell(answer, note)) for identifier in self.identifiers]
        return answer


def tell(answer: Any, note: str = "") -> str:
    """An answer in a few words: command, outcome, exit code, problem codes."""
    told = f"{answer['command']}: {answer['outcome']}, exit {answer['exit_code']}"
    named = ", ".join(f"`{code}`" for code in codes(answer))
    return told + (f" ({named})" if named else "") + (f"; {note}" if note else "")


def page(sightings: Iterable[Sighting]) -> str:
    """The document. Raises KeyError for a case that was not seen, with trap and control."""
    seen: dict[tuple[str, str], list[str]] = {}
    for identifier, role, told in sorted(sightings):
        row = seen.setdefault((identifier, role), [])
        if told not in row:
            row.append(told)
    return INTRODUCTION + "".join(_lines(seen))


def _lines(seen: dict[tuple[str, str], list[str]]) -> Iterator[str]:
    for letter, title in GROUPS.items():
        yield f"\n## {title}\n\n| case | failure | required | seen | control |\n|---|---|---|---|---|\n"
        for identifier in (name for name in FAILURES if name.startswith(letter)):
            failure = FAILURES[identifier]
            cells = [identifier, failure.symptom, failure.required]
            cells += ["<br>".join(seen[identifier, role]) for role in (TRAP, CONTROL)]
            yield f"| {' | '.join(cells)} |\n"


class Collector:
    """A plugin: reads the reports of all tests, and at the end writes the page, or compares it.

    Nothing is done where not all cases were seen, as in a selection of the tests or without an engine.
    """

    def __init__(self, *, write: bool) -> None:
        self.write = write
        self.sightings: list[Sighting] = []
        self.failed = False

    @property
    def missing(self) -> set[str]:
        return FAILURES.keys() - {identifier for identifier, _, _ in self.sightings}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed
        if report.when == "teardown":
            rows = [row for name, value in report.user_properties if name == PROPERTY for row in value]  # type: ignore[attr-defined]
            self.sightings += [(identifier, role, told) for identifier, role, told in rows]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.failed or self.missing:
            return
        if self.write:
            PAGE.write_text(page(self.sightings))
        elif self._differs():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.write and (self.failed or self.missing):
            terminalreporter.write_line(f"{PAGE.name} was not written; not seen: {sorted(self.missing)}")
        elif not self.failed and not self.missing and self._differs():
            terminalreporter.write_line(f"{PAGE.name} is not what was seen: run again with --write-cases")

    def _differs(self) -> bool:
        return not PAGE.exists() or page(self.sightings) != PAGE.read_text()
