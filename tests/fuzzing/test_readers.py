"""Any bytes: an answer or the one stated error; first the corpus, then what hypothesis makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzzing.readers import CORPUS, READERS

INPUTS = sorted(CORPUS.glob("*/*"))


def name_of(path: Path) -> str:
    return f"{path.parent.name}-{path.name}"


@pytest.mark.parametrize("path", INPUTS, ids=map(name_of, INPUTS))
def test_an_input_of_the_corpus(path: Path) -> None:
    READERS[path.parent.name](path.read_bytes())


def test_every_reader_has_a_corpus() -> None:
    assert {path.parent.name for path in INPUTS} == set(READERS)


@st.composite
def near(draw: st.DrawFn, kind: str) -> bytes:
    """An input of the corpus, or two spliced, with some bytes cut out, put in or doubled."""
    inputs = [path.read_bytes() for path in INPUTS if path.parent.name == kind]
    content = draw(st.sampled_from(inputs))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 64)))
        middle = draw(st.one_of(st.binary(max_size=16), st.just(content[start:end] * 2)))
        content = content[:start] + middle + content[end:]
    other = draw(st.sampled_from(inputs))
    return draw(st.sampled_from([content, content + other, other[: len(other) // 2] + content]))


@pytest.mark.parametrize("kind", READERS)
@given(data=st.data())
def test_inputs_near_the_corpus(kind: str, data: st.DataObject) -> None:
    READERS[kind](data.draw(near(kind)))


@pytest.mark.parametrize("kind", READERS)
@given(content=st.binary(max_size=300) | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes(kind: str, content: bytes) -> None:
    READERS[kind](content)
