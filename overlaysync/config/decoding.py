"""From TOML's tables to checked values, with errors that name file, key and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from overlaysync.config.configuration import Document, PackageConfiguration, WatchConfiguration
from overlaysync.config.keys import FILE_PATTERNS, KEYS, LONGEST_MS, key_name, shown, shown_path
from overlaysync.config.selection import LOCAL
from overlaysync.core.names import canonical
from overlaysync.errors import ConfigError

_TYPE_ERROR = re.compile(r"got `(?P<got>\w+)`.* - at `\$\.(?P<key>.+)`", re.DOTALL)
_TYPES = {
    "str": "a string",
    "int": "an integer",
    "float": "a float",
    "bool": "a boolean",
    "array": "an array",
    "object": "a table",
}


class Origin(Struct, frozen=True):
    """Where tables come from. ``prefix``: the dotted key that they stand below, with its dot."""

    file: Path
    prefix: str = ""

    def error(self, key: str, trouble: str, next_step: str) -> ConfigError:
        """The error for one key, named as the file writes it."""
        return ConfigError(f"{shown_path(self.file)}: {self.prefix}{key}: {trouble}", next_step)

    @property
    def package_header(self) -> str:
        return f"[[{self.prefix}package]]"

    def example(self, key: str) -> str:
        headers = {"package": self.package_header, "watch": f"[{self.prefix}watch]"}
        return headers.get(key, KEYS[key].example)


def decode(table: dict[str, Any], origin: Origin) -> Document:
    """Check the tables of one file.

    Raises:
        ConfigError: an unknown key, a value of a wrong type or form, or packages that cannot be told apart.
    """
    _refuse_unknown_keys(table, Document, "", origin)
    packages = table.get("package")
    for index, package in enumerate(packages if isinstance(packages, list) else ()):
        if isinstance(package, dict):
            _refuse_unknown_keys(package, PackageConfiguration, f"package[{index}].", origin)
    watch = table.get("watch")
    if isinstance(watch, dict):
        _refuse_unknown_keys(watch, WatchConfiguration, "watch.", origin)
    try:
        document = msgspec.convert(table, Document)
    except msgspec.ValidationError as error:
        raise _type_error(str(error), origin) from error
    check(document, origin)
    return document


def check(document: Document, origin: Origin) -> None:
    """Check the form of every string, that the target is not this machine, and that packages have own names.

    Raises:
        ConfigError: for the first that does not hold.
    """
    if document.target is not None and document.target.startswith(LOCAL):
        raise origin.error(
            "target",
            "a local: target makes this machine run that environment's Python, which no file may ask for",
            "name it on the command line: --container local:PREFIX",
        )
    for where, key, value in _strings(document):
        form = KEYS[key].value
        if (form and not form.fullmatch(value)) or (key in FILE_PATTERNS and not _is_file_pattern(value)):
            raise origin.error(
                where,
                f"{shown(value)} is not allowed; expected {KEYS[key].allowed}",
                f"write for example: {origin.example(key)}",
            )
    for key, number in (("quiet-ms", document.watch.quiet_ms), ("bound-ms", document.watch.bound_ms)):
        if not 0 <= number <= LONGEST_MS:
            raise origin.error(
                f"watch.{key}",
                f"{number:g} is not allowed; expected {KEYS[key].allowed}",
                f"write for example: {KEYS[key].example}",
            )
    names: set[str] = set()
    for index, package in enumerate(document.package if len(document.package) > 1 else ()):
        where = f"package[{index}].distribution"
        if package.distribution is None:
            raise origin.error(
                where,
                "is missing, which only a single package may leave out",
                f"write for example: {KEYS['distribution'].example}",
            )
        name = canonical(package.distribution)
        if name in names:
            raise origin.error(where, f"{shown(name)} has two tables", "make them one table")
        names.add(name)


def _refuse_unknown_keys(table: dict[str, Any], kind: type[Struct], where: str, origin: Origin) -> None:
    allowed = [field.encode_name for field in msgspec.structs.fields(kind)]
    for key in table:
        if key in allowed:
            continue
        import difflib

        nearest = difflib.get_close_matches(key.replace("_", "-")[:80], allowed, n=1)
        if nearest:
            next_step = f"write {nearest[0]} if that is what is meant, or remove the key"
        elif key in KEYS:
            next_step = f"move it into a {origin.package_header} table" if not where else "move it to the top"
        else:
            next_step = "remove the key"
        raise origin.error(
            where + key_name(key), f"unknown key; allowed here: {', '.join(allowed)}", next_step
        )


def _type_error(message: str, origin: Origin) -> ConfigError:
    """msgspec's own error in TOML's words. Its path holds known keys only, the others are refused before."""
    found = _TYPE_ERROR.search(message)
    if found is None:
        return origin.error("package", message, f"write for example: {origin.package_header}")
    key = re.sub(r"\[\d+\]", "", found["key"]).rpartition(".")[2]
    got = _TYPES.get(found["got"], f"a {found['got']}")
    return origin.error(
        found["key"],
        f"got {got}; expected {KEYS[key].allowed}",
        f"write for example: {origin.example(key)}",
    )


def _strings(document: Document) -> Iterator[tuple[str, str, str]]:
    """Dotted key with its index, plain key, and value, of each string in the document."""
    if document.target is not None:
        yield "target", "target", document.target
    yield "pre-push", "pre-push", document.pre_push
    for index, package in enumerate(document.package):
        for field in msgspec.structs.fields(PackageConfiguration):
            key = field.encode_name
            value: str | tuple[str, ...] | None = getattr(package, field.name)
            if isinstance(value, str):
                yield f"package[{index}].{key}", key, value
            for position, item in enumerate(value if isinstance(value, tuple) else ()):
                yield f"package[{index}].{key}[{position}]", key, item


def _is_file_pattern(value: str) -> bool:
    """Whether a gitignore pattern can match anything (a comment cannot)."""
    from pathspec import GitIgnoreSpec

    try:
        return any(pattern.include is not None for pattern in GitIgnoreSpec.from_lines([value]).patterns)
    except ValueError:
        return False
