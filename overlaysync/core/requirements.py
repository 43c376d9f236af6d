"""Requirements, compared by what they ask for and not by how they are written."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import tomli

from overlaysync.core.finding import Finding, Judgement, listed, printable
from overlaysync.core.names import canonical
from overlaysync.core.vocabulary import words

_DEVELOPMENT_WORDS = words(
    "dev devel develop development test tests testing doc docs documentation lint linting linters style",
    "quality format formatting typing typecheck mypy ci coverage bench benchmark benchmarks example examples",
    "notebook notebooks pytest tox nox towncrier black ruff isort flake8 pylint",
)
_COMMENT = re.compile(r"(^|\s)#.*$")


def for_development_only(name: str) -> bool:
    """Whether an extra or a requirements file is named for work on the project and not for its use."""
    return not _DEVELOPMENT_WORDS.isdisjoint(re.split(r"[-_.]", name.lower()))


class Differing(NamedTuple):
    """What one distribution was asked for by, and is now; empty where it was not, or is no more."""

    was: str
    is_now: str

    def __str__(self) -> str:
        if self.was and self.is_now:
            return f"{self.was} -> {self.is_now}"
        return f"adds {self.is_now}" if self.is_now else f"removes {self.was}"


def differences(before: Iterable[str], after: Iterable[str]) -> list[Differing]:
    """What was added, removed or changed, one for each distribution: ``torch==2.8 -> torch==2.9``."""
    old, new = _by_name(before), _by_name(after)
    pairs = (
        Differing("; ".join(sorted(old[name])), "; ".join(sorted(new[name])))
        for name in sorted(old.keys() | new.keys())
    )
    return [pair for pair in pairs if pair.was != pair.is_now]


def title(changed: Iterable[tuple[object, object]]) -> str:
    """What became of dependencies, by what each was and is now; what is not there is false."""
    kinds = {"removed" if not is_now else "pin changed" if was else "added" for was, is_now in changed}
    return "dependency " + ("pin changed" if "pin changed" in kinds else " and ".join(sorted(kinds)))


def judge_requirements_file(before: bytes | None, after: bytes | None) -> Judgement:
    """Compare two sides of a pip requirements or constraints file; a missing side is an empty one."""
    changed = differences(_lines(before), _lines(after))
    if not changed:
        return Judgement(note="comments or formatting only")
    return Judgement((Finding("requirement-change", f"{title(changed)}: {listed(changed)}"),))


def judge_lock(before: bytes | None, after: bytes | None) -> Judgement:
    """Compare two sides of a lock file: no wheel's build reads it, but an image's build may."""
    try:
        old, new = _locked(before), _locked(after)
    except (ValueError, RecursionError):
        return Judgement(note="a lock file that cannot be read; no wheel's build reads it either")
    names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    changed = [f"{name} {old.get(name, 'absent')} -> {new.get(name, 'absent')}" for name in names]
    what = f"pins changed: {listed(changed)}" if changed else "no pin changed"
    return Judgement(note=f"no wheel's build reads it, the target holds what HEAD's asked for; {what}")


def _locked(content: bytes | None) -> dict[str, str]:
    """Versions by name: TOML with a list of packages (uv, poetry, pdm, PEP 751), or pipenv's JSON."""
    text = (content or b"").decode("utf-8")
    if text.lstrip().startswith("{"):
        sections = json.loads(text).values()
        tables = [table for table in sections if isinstance(table, dict)]
        pins = (
            (name, pin.get("version"))
            for table in tables
            for name, pin in table.items()
            if isinstance(pin, dict)
        )
        return {canonical(name): printable(str(version)) for name, version in pins if version}
    document = tomli.loads(text)
    rows = document.get("package", document.get("packages", []))
    rows = [row for row in rows if isinstance(row, dict) and isinstance(row.get("name"), str)]
    return {canonical(row["name"]): printable(str(row.get("version"))) for row in rows}


def _lines(content: bytes | None) -> list[str]:
    """The file's logical lines without comments (https://pip.pypa.io/en/stable/reference/requirements-file-format/).

    Those of conda's ``environment.yml`` are the items of lists.
    """
    text = (content or b"").decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    physical = [_COMMENT.sub("", line) for line in text.splitlines()]
    logical = re.sub(r"\\\n", " ", "\n".join(physical))
    return [line.strip().removeprefix("- ") for line in logical.splitlines() if line.strip()]


def _by_name(lines: Iterable[str]) -> defaultdict[str, set[str]]:
    grouped: defaultdict[str, set[str]] = defaultdict(set)
    for line in lines:
        name, text = _normalized(" ".join(line.split()))
        grouped[name].add(text)
    return grouped


def _normalized(line: str) -> tuple[str, str]:
    """The name to pair a line by, and its text without credentials. Options pair by their whole text."""
    from packaging.requirements import InvalidRequirement, Requirement

    specification, separator, options = line.partition(" --")
    try:
        requirement = Requirement(specification)
    except InvalidRequirement:
        return line, printable(line)
    requirement.name = canonical(requirement.name)
    return requirement.name, printable(str(requirement) + separator + options)
