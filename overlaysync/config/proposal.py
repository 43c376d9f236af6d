"""The commented ``overlaysync.toml`` that ``init`` proposes."""

from __future__ import annotations

import json
import re
from pathlib import Path

from msgspec import structs

from overlaysync.config.configuration import Document, PackageConfiguration
from overlaysync.config.decoding import Origin, check
from overlaysync.config.keys import FILE_PATTERNS, KEYS
from overlaysync.config.loading import OWN_FILE

_UNWRITABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def proposal(target: str, package: PackageConfiguration) -> str:
    """The text of a configuration, which ``load`` reads back as these values.

    A key that holds nothing is shown as a comment with an example. Characters that no configuration can hold
    (undecodable bytes, control characters) become ``?`` in a file pattern, which matches them.

    Raises:
        ConfigError: a value that the configuration would refuse; what is proposed was found in the target.
    """
    lines = ["# Configuration of overlaysync; every key is explained by docs/configuration.md.", ""]
    lines += [*_key("target", target), "", KEYS["package"].example]
    values = {}
    for field in structs.fields(PackageConfiguration):
        value = getattr(package, field.name)
        if value and field.encode_name in FILE_PATTERNS:
            value = tuple(_UNWRITABLE.sub("?", pattern) for pattern in value)
        values[field.name] = value
        holds_nothing = value is None or (value == () and value == field.default)
        lines += _key(field.encode_name, None if holds_nothing else value)
    check(Document(target, (PackageConfiguration(**values),)), Origin(Path(OWN_FILE)))
    return "\n".join([*lines, ""])


def _key(name: str, value: str | tuple[str, ...] | None) -> list[str]:
    key = KEYS[name]
    match value:
        case None:
            line = f"# {key.example}"
        case str():
            line = f"{name} = {_quoted(value)}"
        case tuple():
            line = f"{name} = [{', '.join(map(_quoted, value))}]"
    return [f"# {key.meaning}", line]


def _quoted(text: str) -> str:
    # A JSON string of printable characters is a basic string of TOML; control characters are refused before.
    return json.dumps(text, ensure_ascii=False)
