"""The pattern that is proposed for a path means that path alone."""

from __future__ import annotations

import re

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from overlaysync.core.patterns import UNWRITABLE, pattern_for, quoted_pattern

LETTERS = st.sampled_from("ab!#[]*?\\ \u00a0-^{}'\"") | st.characters()
NAMES = st.text(LETTERS.filter(lambda letter: letter not in "/\0"), min_size=1, max_size=4).filter(
    lambda name: name not in (".", "..")
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


def matched(pattern: str, paths: list[str]) -> list[str]:
    return list(GitIgnoreSpec.from_lines([pattern]).match_files(paths))


@pytest.mark.parametrize(
    ("path", "others"),
    [
        ("version.py", ["pkg/version.py", "pkg/deep/version.py", "version.pyi"]),
        ("pkg/[ab].py", ["pkg/a.py", "pkg/b.py", "x/pkg/[ab].py"]),
        ("pkg/*.py", ["pkg/a.py", "pkg/.py"]),
        ("pkg/a?.py", ["pkg/ab.py"]),
        ("!kept.py", ["kept.py"]),
        ("#note.py", ["note.py"]),
        ("pkg/last ", ["pkg/last", "pkg/last  "]),
        ("pkg\\a.py", ["pkga.py", "pkg/a.py"]),
    ],
)
def test_one_path_and_no_other(path: str, others: list[str]) -> None:
    assert matched(pattern_for(path), [path, *others]) == [path]


@given(PATHS, st.lists(PATHS, max_size=8))
def test_exactly_that_path_among_many(path: str, others: list[str]) -> None:
    """One tree holds no file both at a path and below it, and the controls in it stand for any character."""
    visible = re.sub(f"[{UNWRITABLE}]", "a", path)
    paths = {item for item in others if not item.startswith(f"{visible}/")} | {visible, f"deep/{visible}"}
    assert matched(pattern_for(visible), sorted(paths)) == [visible]
    assert matched(pattern_for(path), [path]) == [path]


@given(PATHS)
def test_the_quoted_pattern_is_a_line_of_toml(path: str) -> None:
    assert tomli.loads(f"generated = [{quoted_pattern(path)}]") == {"generated": [pattern_for(path)]}
    assert not re.search(f"[{UNWRITABLE}]", quoted_pattern(path))


def test_what_no_configuration_holds_becomes_a_wildcard() -> None:
    assert pattern_for("pkg/caf\udce9\n\u202e.py") == "/pkg/caf???.py"
