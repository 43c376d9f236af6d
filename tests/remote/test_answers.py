"""A target that answers with what it should not: an error that says so, never a crash and never belief."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlaysync import errors
from overlaysync.model.target import InstalledPath, Interpreter, Inventory, RunningProcess, Setting
from overlaysync.remote.answers import typed
from overlaysync.remote.connecting import connect
from overlaysync.remote.session import AgentSession
from tests.remote.programs import GREET, ProgramTransport

Answering = Callable[[str], AgentSession]
Asked = Callable[[AgentSession], object]

FILE = {"path": "a.py", "kind": "file"}
MODULE = {"module": "a"}


@pytest.fixture
def answering(tmp_path: Path) -> Iterator[Answering]:
    """A session with a program that answers each request with the value of an expression."""
    with ExitStack() as sessions:

        def start(expression: str) -> AgentSession:
            code = f"{GREET}\nwhile True:\n    request = receive()\n    send({expression})"
            return sessions.enter_context(connect(ProgramTransport(tmp_path, code)))

        yield start


def ok(value: object) -> str:
    return f"frame({{'id': request.get('id'), 'ok': {value!r}}})"


def look(session: AgentSession) -> object:
    return session.look([InstalledPath("a.py")], object_format="sha1")


def glance(session: AgentSession) -> object:
    return session.glance("/root", "sample", [InstalledPath("a.py")], "sha1")


def read_back(session: AgentSession) -> object:
    return session.read_back("python3", Setting(), ["a"], ["b"])


def test_answers_that_are_right(answering: Answering) -> None:
    for asked in (look, glance):
        assert asked(answering(ok({"files": [FILE]})))
    resolutions, unreadable = answering(ok({"modules": [MODULE], "unreadable": []})).read_back(
        "python3", Setting(), ["a"], ["b"]
    )
    assert (resolutions[0].module, unreadable) == ("a", [])


@pytest.mark.parametrize("asked", [look, glance])
@pytest.mark.parametrize(
    "value",
    [
        {},
        {"files": None},
        {"files": []},
        {"files": [FILE, FILE]},
        {"files": [{**FILE, "path": "b.py"}]},
        {"files": [{**FILE, "kind": "executable"}]},
        {"files": [{**FILE, "size": "large"}]},
        {"files": [{**FILE, "size": 1.5}]},
        {"files": [{**FILE, "twins": "a.so"}]},
        {"files": [{**FILE, "sha256": 5}]},
        {"files": ["a.py"]},
    ],
)
def test_files_that_were_not_asked_about(answering: Answering, value: object, asked: Asked) -> None:
    """An empty answer would else be taken for a proof."""
    with pytest.raises(errors.AgentLostError, match=r"malformed|about other files"):
        asked(answering(ok(value)))


@pytest.mark.parametrize(
    "value",
    [
        {"modules": [], "unreadable": []},
        {"modules": [MODULE, MODULE], "unreadable": []},
        {"modules": [{"module": "b"}], "unreadable": []},
        {"modules": [{"module": "a", "origin": 5}], "unreadable": []},
        {"modules": [MODULE]},
        {"modules": [MODULE], "unreadable": [["b"]]},
        {"modules": [MODULE], "unreadable": "b"},
        {"modules": [MODULE], "unreadable": [["c", "is of no interest"]]},
    ],
)
def test_modules_that_were_not_asked_about(answering: Answering, value: object) -> None:
    with pytest.raises(errors.AgentLostError, match=r"malformed|about other modules"):
        read_back(answering(ok(value)))


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("b'garbage that is no frame'", "not the agent's"),
        ("b'OVS1' + b'\\xff' * 8", "too large"),
        ("frame({})", "to another request"),
        ("frame({'id': 99, 'ok': {}})", "to another request"),
        ("frame({'id': request.get('id')})", "malformed"),
        ("frame({'id': request.get('id'), 'ok': []})", "malformed"),
        ("frame({'id': request.get('id'), 'error': 'text'})", "malformed"),
        ("frame({'id': request.get('id'), 'error': {'kind': 5}})", "malformed"),
        ("sys.exit('the last words')", "ended before it answered: the last words"),
        ("sys.exit(0)", "ended before it answered: no reason given"),
    ],
)
def test_answers_that_are_none(answering: Answering, expression: str, told: str) -> None:
    with pytest.raises(errors.AgentLostError, match=told):
        look(answering(expression))


@pytest.mark.parametrize(
    ("kind", "error", "exit_code"),
    [
        ("locked", errors.LockedError, 9),
        ("damaged", errors.OverlayDamagedError, 5),
        ("root", errors.TargetError, 7),
        ("interpreter", errors.TargetError, 7),
        ("system", errors.TargetError, 7),
        ("write", errors.ApplyError, 8),
        ("apply", errors.ApplyError, 8),
        ("unfinished", errors.UnfinishedError, 8),
        ("usage", errors.AgentBugError, 70),
        ("bug", errors.AgentBugError, 70),
        ("\x1b[31munheard of", errors.AgentBugError, 70),
    ],
)
def test_failures_become_errors_with_their_exit_code(
    answering: Answering, kind: str, error: type[errors.OverlaysyncError], exit_code: int
) -> None:
    report = {"kind": kind, "message": "what happened", "path": "a.py"}
    with pytest.raises(errors.OverlaysyncError) as raised:
        look(answering(f"frame({{'id': request.get('id'), 'error': {report!r}}})"))
    assert (type(raised.value), raised.value.exit_code) == (error, exit_code)
    assert raised.value.message == "a.py: what happened"


def test_text_for_the_terminal_is_passed_on_as_data(answering: Answering) -> None:
    """Whoever prints it cleans it."""
    report = {"kind": "apply", "message": "\x1b[2J\udcff\x00", "path": None}
    with pytest.raises(errors.ApplyError) as raised:
        look(answering(f"frame({{'id': request.get('id'), 'error': {report!r}}})"))
    assert raised.value.message == "\x1b[2J\udcff\x00"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def near(kind: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with the field names of a type, and anything in them."""
    return st.dictionaries(st.sampled_from(kind.__struct_fields__), VALUES)


@given(
    st.sampled_from([Inventory, Interpreter, RunningProcess]).flatmap(
        lambda kind: st.tuples(st.just(kind), near(kind))
    )
)
def test_any_json_is_the_type_or_an_error(case: tuple[type[object], dict[str, Any]]) -> None:
    kind, value = case
    try:
        assert isinstance(typed(value, kind), kind)
    except errors.AgentLostError as error:
        assert "malformed" in error.message


@pytest.mark.parametrize("number", [10**400, -(10**400), float("inf"), float("nan")])
def test_numbers_beyond_measure(number: float) -> None:
    for kind in (int, float):
        try:
            typed(number, kind)
        except errors.AgentLostError as error:
            assert "malformed" in error.message
