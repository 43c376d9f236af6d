"""``docs/configuration.md`` names every key, and its examples are taken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec import structs

from overlaysync.config.configuration import Document, PackageConfiguration, WatchConfiguration
from overlaysync.config.keys import KEYS
from overlaysync.config.loading import load

TEXT = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
TOP = [field.encode_name for kind in (Document, WatchConfiguration) for field in structs.fields(kind)]
NAMES = [*TOP, *(field.encode_name for field in structs.fields(PackageConfiguration))]


def test_every_key_has_its_row_and_its_words() -> None:
    assert set(NAMES) == set(KEYS)
    rows = re.findall(r"^\| `([a-z-]+)` \|", TEXT, re.MULTILINE)
    assert sorted(rows) == sorted(NAMES)
    headings = " ".join(re.findall(r"^### (.*)", TEXT, re.MULTILINE))
    assert set(re.findall(r"`([a-z-]+)`", headings)) == set(NAMES) - set(TOP)


@pytest.mark.parametrize("block", re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL))
def test_the_long_examples(tmp_path: Path, block: str) -> None:
    name = "pyproject.toml" if "tool.overlaysync" in block else "overlaysync.toml"
    (tmp_path / name).write_text(block)
    assert load(tmp_path, None).target == "docker:my-dev"


@pytest.mark.parametrize("line", re.findall(r"`([a-z-]+ = [^`]+)`", TEXT))
def test_the_short_examples(tmp_path: Path, line: str) -> None:
    key = line.partition(" ")[0]
    header = "[watch]\n" if key.endswith("-ms") else "" if key in TOP else "[[package]]\n"
    (tmp_path / "overlaysync.toml").write_text(f"{header}{line}\n")
    load(tmp_path, None)
