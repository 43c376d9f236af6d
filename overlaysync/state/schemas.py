"""The published JSON Schemas, made from the types: ``python -m overlaysync.state.schemas [DIRECTORY]``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from overlaysync.model.manifest import Manifest
from overlaysync.model.moment import Moment
from overlaysync.model.result import Result

DIALECT = "https://json-schema.org/draft/2020-12/schema"
PUBLISHED: dict[str, type[msgspec.Struct]] = {"manifest": Manifest, "result": Result, "watch": Moment}


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of one of the documents."""
    kind = PUBLISHED[name]
    generated = msgspec.json.schema(kind)
    # Its default is for our own code; a document always says which schema it follows.
    generated["$defs"][kind.__name__]["required"].append("schema")
    return {
        "$schema": DIALECT,
        "$id": f"urn:overlaysync:{name}:1",
        "title": f"overlaysync.{name}/1",
        **generated,
    }


def text(name: str) -> str:
    """The schema as the committed file holds it."""
    return json.dumps(schema(name), indent=2) + "\n"


def write(directory: Path) -> list[Path]:
    """Write every schema; the files."""
    directory.mkdir(parents=True, exist_ok=True)
    files = []
    for name in PUBLISHED:
        file = directory / f"{name}-1.schema.json"
        file.write_text(text(name), encoding="ascii")
        files.append(file)
    return files


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/schema"))
