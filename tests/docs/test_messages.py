"""What the tool says to people: known codes, one style, and always a next step."""

from __future__ import annotations

import ast
import re

import pytest

from overlaysync import errors
from overlaysync.model.problem_kinds import PROBLEM_KINDS
from tests.docs.source import SOURCE, Call, argument, calls, nodes, texts

PLACES = {"Problem": (0, 1, 2), "ResultProblem": (0, 2, 3), "Finding": (0, 1, None)}
"""Where the code, the message and the next step stand in what makes a problem."""

PROBLEMS = [call for call in calls() if call.name in PLACES]
ERRORS = [call for call in calls() if isinstance(getattr(errors, call.name, None), type)]
NAMES = {"HEAD", "RECORD", "PATH", "Python", "Git", "LFS", "PEP", "XDG_STATE_HOME"}
"""With what a message may begin in upper case."""


def codes(call: Call) -> list[str]:
    return list(texts(argument(call.node, PLACES[call.name][0], "code")))


def test_every_code_of_a_problem_is_listed() -> None:
    used = [(call.place, code) for call in PROBLEMS for code in codes(call)]
    assert len(used) > 30
    assert not [f"{place}: {code}" for place, code in used if code not in PROBLEM_KINDS]


@pytest.mark.parametrize("code", PROBLEM_KINDS)
def test_every_listed_code_is_used(code: str) -> None:
    listing = SOURCE / "model" / "problem_kinds.py"
    assert code in (
        node.value for file, node in nodes() if file != listing and isinstance(node, ast.Constant)
    )


def test_a_problem_has_a_next_step() -> None:
    steps = [
        (call.place, argument(call.node, PLACES[call.name][2] or 0, "next_step"))
        for call in PROBLEMS
        if PLACES[call.name][2] is not None
    ]
    assert not [
        place for place, step in steps if step is None or "" in {text.strip() for text in texts(step)}
    ]
    assert len(steps) > 30


def said() -> list[tuple[str, str]]:
    """Every message and next step that is written where it is raised, with its place."""
    found = []
    for call in PROBLEMS:
        _, message, step = PLACES[call.name]
        found += [(call.place, text) for text in texts(argument(call.node, message, "message"))]
        found += [
            (call.place, text) for text in texts(argument(call.node, step, "next_step") if step else None)
        ]
    for call in ERRORS:
        for position, name in enumerate(("message", "next_step")):
            found += [(call.place, text) for text in texts(argument(call.node, position, name))]
    return found


def test_messages_begin_in_lower_case_and_end_without_a_full_stop() -> None:
    assert len(said()) > 100
    assert not [f"{place}: {text}" for place, text in said() if not in_style(text)]


def in_style(text: str) -> bool:
    first = re.match(r"\w*", text)
    lower = not text[:1].isupper() or (first is not None and first.group() in NAMES)
    return lower and not re.search(r"[^.…]\.$", text)


def test_the_style() -> None:
    assert in_style("git is not installed") and in_style("HEAD moved") and in_style("wait …")
    assert not in_style("The file is gone") and not in_style("it is gone.")
