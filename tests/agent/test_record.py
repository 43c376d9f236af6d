"""RECORD is read as a CSV reader reads it, whether or not it takes one."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlaysync.agent.record import _rows, read_record
from overlaysync.agent.tree import Tree
from tests.agent.vocabulary import METADATA, Site

FIELDS = st.text(st.sampled_from('abc/._-=," \n\ré\x0b\x85'), max_size=8)


def by_csv(text: str) -> list[tuple[str, str]]:
    return [(row[0], "".join(row[1:2])) for row in csv.reader(io.StringIO(text, newline="")) if row]


def read(text: str) -> list[tuple[str, str]]:
    return [row for row in _rows(text) if row != ("", "")]


@given(rows=st.lists(st.lists(FIELDS, min_size=1, max_size=4)), ending=st.sampled_from(["\n", "\r\n"]))
def test_what_an_installer_writes(rows: list[list[str]], ending: str) -> None:
    stream = io.StringIO()
    csv.writer(stream, lineterminator=ending).writerows(rows)
    text = stream.getvalue()
    assert read(text) == [row for row in by_csv(text) if row != ("", "")]


@given(text=st.text(st.sampled_from("ab/.,\n\r é\x0b\x85"), max_size=60))
def test_what_anybody_else_writes(text: str) -> None:
    assert read(text) == [row for row in by_csv(text) if row != ("", "")]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_quoted_name_is_another_one(site: Site, ending: str) -> None:
    """A comma, a quote and a line break can be in a name."""
    odd = 'sample/a,"b\r\n.py'
    lines = ["sample/__init__.py,sha256=x,1", '"' + odd.replace('"', '""') + '",sha256=y,2', ""]
    site.write(f"{METADATA}/RECORD", ending.join(lines))
    tree = Tree(str(site.root).encode())
    try:
        found = read_record(tree, METADATA.encode())
    finally:
        tree.close()
    assert found.files == {"sample": {"__init__.py": "sha256=x", odd.rpartition("/")[2]: "sha256=y"}}
