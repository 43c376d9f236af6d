"""The published schemas are those of the types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from overlaysync.state.manifest_text import decode, encode
from overlaysync.state.schemas import PUBLISHED, schema, text, write
from tests.state.samples import MANIFEST, RESULT

DOCUMENTATION = Path(__file__).parents[2] / "docs"


def valid(name: str, document: Any) -> bool:
    return bool(Draft202012Validator(schema(name)).is_valid(document))


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_the_committed_file_is_the_generated_one(name: str) -> None:
    committed = (DOCUMENTATION / "schema" / f"{name}-1.schema.json").read_text(encoding="ascii")
    assert committed == text(name), "run python -m overlaysync.state.schemas"


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_each_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))


def test_written_into_a_directory(tmp_path: Path) -> None:
    files = write(tmp_path / "new")
    assert [file.name for file in files] == [f"{name}-1.schema.json" for name in sorted(PUBLISHED)]
    assert [file.read_text() for file in files] == [text(name) for name in sorted(PUBLISHED)]


def test_a_manifest_is_valid() -> None:
    document = json.loads(encode(MANIFEST))
    assert valid("manifest", document)
    for damage in ({"schema": "overlaysync.manifest/2"}, {"operations": None}, {"time": 3}):
        assert not valid("manifest", document | damage)
    del document["schema"]
    assert not valid("manifest", document)


def test_a_result_is_valid() -> None:
    document = json.loads(json.dumps(msgspec.to_builtins(RESULT)))
    assert document["operations"][0]["class"] == "python"
    assert valid("result", document)
    for damage in ({"schema": "overlaysync.manifest/1"}, {"outcome": "done"}, {"exit_code": "0"}):
        assert not valid("result", document | damage)


def test_the_documented_example_is_a_manifest() -> None:
    documentation = (DOCUMENTATION / "manifest.md").read_text(encoding="utf-8")
    [example] = [part.split("```")[0] for part in documentation.split("```json\n")[1:]]
    assert valid("manifest", json.loads(example))
    decode(example)


def test_every_field_of_a_manifest_is_documented() -> None:
    documentation = (DOCUMENTATION / "manifest.md").read_text(encoding="utf-8")
    for definition in schema("manifest")["$defs"].values():
        for field in definition.get("properties", {}):
            assert f"`{field}`" in documentation, field
