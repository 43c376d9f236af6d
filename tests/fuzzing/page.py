"""Writes ``docs/hostile.md`` from the tests' own tables: ``python -m tests.fuzzing.page``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.agent import test_damaged_records as journals
from tests.e2e import test_forged_records as records
from tests.e2e import test_hostile_target as target
from tests.e2e import test_untrusted_repository as repository
from tests.e2e.faults import test_container, test_host
from tests.fuzzing.readers import CORPUS

PAGE = Path(__file__).parents[2] / "docs" / "hostile.md"

INTRODUCTION = """\
# Hostile inputs and faults

What the tests try, from their own tables. What is promised is in [SECURITY.md](../SECURITY.md). This page is
written by `python -m tests.fuzzing.page`, and CI fails where it would be another.
"""


def page() -> str:
    """The document."""
    sections = {
        "Answers of a target": [f"`{request}`: {lie}" for request, lie in target.LIES],
        "The overlay's record in a target": [*records.FORGED, *records.DAMAGED],
        "The journal of a transaction in a target": [*journals.FORGED, *journals.UNREADABLE],
        "Programs that a checkout names": [
            *(f"`{name}`" for name in repository.PROGRAMS),
            *(f"the hook `{name}`" for name in repository.HOOKS),
            "a filter and a merge driver for linked worktrees alone (`includeIf`)",
        ],
        "Bytes of files and streams": sorted(
            f"{path.parent.name}: {path.name}" for path in CORPUS.glob("*/*")
        ),
        "The host's process, at a request of the agent": [
            f"{name}, at `{request}`" for name, request in test_host.FAULTS
        ],
        "The container, when files are in place and not recorded": list(test_container.FAULTS),
    }
    return INTRODUCTION + "".join(_section(title, rows) for title, rows in sections.items())


def _section(title: str, rows: Iterable[str]) -> str:
    items = list(rows)
    return f"\n## {title}\n\n{len(items)}:\n\n" + "".join(f"- {item}\n" for item in items)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
