"""The commented ``overlaysync.toml`` that ``init`` proposes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from overlaysync.config.configuration import Document, PackageConfiguration
from overlaysync.config.decoding import Origin, check
from overlaysync.config.keys import KEYS
from overlaysync.config.loading import OWN_FILE
from overlaysync.core.patterns import quoted_pattern


def proposal(target: str | None, package: PackageConfiguration, *, overwritten: Sequence[str] = ()) -> str:
    """The text of a configuration, which ``load`` reads back as these values.

    A key that holds nothing is shown as a comment with an example.

    Args:
        target: None for one that no configuration may name.
        overwritten: paths that are proposed for ``generated`` in comments: only a person can know whether the
            build overwrites them, or the image is from another commit.

    Raises:
        ConfigError: a value that the configuration would refuse; what is proposed was found in the target.
    """
    lines = ["# Configuration of overlaysync; every key is explained by docs/configuration.md.", ""]
    lines += [*_key("target", target), "", KEYS["package"].example]
    for field in structs.fields(PackageConfiguration):
        value = getattr(package, field.name)
        if field.encode_name == "generated" and overwritten:
            lines += _generated(value, overwritten)
            continue
        holds_nothing = value is None or (value == () and value == field.default)
        lines += _key(field.encode_name, None if holds_nothing else value)
    check(Document(target, (package,)), Origin(Path(OWN_FILE)))
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


def _generated(patterns: tuple[str, ...], overwritten: Sequence[str]) -> list[str]:
    return [
        f"# {KEYS['generated'].meaning}",
        "generated = [",
        *(f"    {_quoted(pattern)}," for pattern in patterns),
        "    # The build overwrites these? Then uncomment:",
        *(f"    # {quoted_pattern(path)}," for path in overwritten),
        "]",
    ]


def _quoted(text: str) -> str:
    # A JSON string of printable characters is a basic string of TOML; control characters are refused before.
    return json.dumps(text, ensure_ascii=False)
