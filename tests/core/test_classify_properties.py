"""What holds for any bytes and any path."""

from __future__ import annotations

import ast

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from overlaysync.core.classify import classify, classify_set, needs_content
from overlaysync.core.vocabulary import words
from overlaysync.model.problem_kinds import PROBLEM_KINDS
from overlaysync.model.worktree import ChangeKind, RepoPath
from tests.core.changes import as_bytes, change, codes, judged
from tests.core.test_buildfiles import CARGO, PYPROJECT
from tests.core.test_buildfiles_setuptools import SETUP, SETUP_CFG
from tests.core.test_classify_python import BINDINGS, KERNELS, ORDINARY

NAMES = sorted(
    words(
        "a.py setup.py setup.cfg pyproject.toml Cargo.toml CMakeLists.txt meson.build Makefile MANIFEST.in",
        "BUILD requirements.txt build.py a.cu a.pyx a.proto a_pb2.py a.pth .gitmodules a.json a.j2 a.py.in",
        "a.so a",
    )
)
SOURCES = [*BINDINGS.values(), *KERNELS.values(), *ORDINARY.values()]
TEXTS = [text for text in map(as_bytes, (*SOURCES, PYPROJECT, CARGO, SETUP, SETUP_CFG)) if text is not None]

raw_names = st.binary(min_size=1).filter(lambda raw: b"\0" not in raw and b"/" not in raw)
components = raw_names.map(lambda raw: raw.decode("utf-8", "surrogateescape")) | st.text(
    st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1
)
paths = st.builds(
    lambda directories, name: "/".join([*directories, name]),
    st.lists(components, max_size=2),
    st.sampled_from(NAMES) | components,
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Content that is nearly right: a piece of it replaced by other bytes."""
    text = draw(st.sampled_from(TEXTS))
    start, end = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
    return text[:start] + draw(st.binary(max_size=8)) + text[end:]


contents = st.none() | st.binary() | st.sampled_from(TEXTS) | damaged()


@settings(max_examples=600)
@given(paths, contents, contents, st.sampled_from(ChangeKind))
def test_anything_is_judged(path: str, before: bytes | None, after: bytes | None, kind: ChangeKind) -> None:
    needs_content(RepoPath(path))
    classified = classify(change(path, kind), before, after)
    (with_neighbours,) = classify_set([classified], [RepoPath("pkg/__init__.py")])
    for problem in (*classified.problems, *with_neighbours.problems):
        assert problem.code in PROBLEM_KINDS
        assert problem.path == path
        # What people and programs are shown is text that can be encoded.
        assert msgspec.json.encode([problem.message, problem.next_step])


@settings(max_examples=300)
@given(st.sampled_from(NAMES), contents)
def test_equal_contents_are_no_reason_to_ask(name: str, content: bytes | None) -> None:
    acknowledgeable = {"binding-change", "jit-change"}
    assert acknowledgeable.isdisjoint(codes(judged(name, content, content)))


@settings(max_examples=200)
@given(
    st.sampled_from(SOURCES), st.lists(st.sampled_from(["", "# A comment.", "    # Indented."]), max_size=4)
)
def test_comments_and_formatting_alone_are_always_said_to_be_that(source: str, comments: list[str]) -> None:
    reformatted = ast.unparse(ast.parse(source))
    after = "\n".join([*comments, *(f"{line}  " for line in reformatted.split("\n") if "'''" not in line)])
    classified = judged("pkg/a.py", source, f"{after}\n" if "__global__" not in source else f"# x\n{source}")
    assert (classified.change_class.value, codes(classified)) == ("python", [])
    assert classified.note == "comments or formatting only"


@settings(max_examples=200)
@given(st.sampled_from(SOURCES), st.integers())
def test_a_statement_of_its_own_is_ordinary_whatever_else_the_file_holds(source: str, number: int) -> None:
    classified = judged("pkg/a.py", source, f"{source}\nADDED = {number}\n")
    assert (classified.change_class.value, codes(classified)) == ("python", [])
