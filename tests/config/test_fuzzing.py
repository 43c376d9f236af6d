"""Whatever a repository carries: a configuration, or the one stated error."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlaysync.config.configuration import Configuration
from overlaysync.config.decoding import Origin, decode
from overlaysync.config.keys import KEYS
from overlaysync.config.loading import load
from overlaysync.errors import ConfigError

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.datetimes() | st.dates()
KEY = st.sampled_from(sorted(KEYS)) | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEY, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("name", ["overlaysync.toml", "pyproject.toml", "setup.cfg"])
@given(content=st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_in_a_file(name: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / name).write_bytes(content)
        with contextlib.suppress(ConfigError):
            assert isinstance(load(root, None), Configuration)


@given(
    st.dictionaries(KEY, VALUES, max_size=4)
    | st.fixed_dictionaries({"package": st.lists(st.dictionaries(KEY, VALUES, max_size=4), max_size=3)})
)
def test_any_tables(table: dict[str, object]) -> None:
    try:
        decode(table, Origin(Path("overlaysync.toml")))
    except ConfigError as error:
        assert error.next_step
        assert str(error).isprintable()
