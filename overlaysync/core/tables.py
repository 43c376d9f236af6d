"""Differences of nested tables (TOML, INI), and which of them a build or an installation uses."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from overlaysync.core import requirements
from overlaysync.core.finding import Finding, Judgement, listed, printable

KeyPath = tuple[str, ...]
_ABSENT: Any = None  # neither TOML nor INI has a null


class Effect(enum.Enum):
    """What a difference of a value means for an image that was built from the old one."""

    BUILD = "build-change"
    REQUIREMENT = "requirement-change"
    METADATA = "metadata"  # is shown by installers and the package index, changes nothing that runs
    NOTHING = "nothing"


Rules = Mapping[KeyPath, Effect]
"""Effects by key path; the longest prefix of a difference's path that has one decides."""


class Difference(NamedTuple):
    """One value that differs; None where a side does not have the key."""

    path: KeyPath
    before: Any
    after: Any

    @property
    def key(self) -> str:
        return ".".join(self.path)

    def __str__(self) -> str:
        if _requirement_list(self.before) and _requirement_list(self.after):
            changed = requirements.differences(self.before or [], self.after or [])
            return f"{self.key}: {listed(changed)}" if changed else self.key
        return f"{self.key}: {_short(self.before)} -> {_short(self.after)}"


def differences(before: Any, after: Any, path: KeyPath = ()) -> Iterator[Difference]:
    """The innermost values that differ. A missing table counts as an empty one."""
    if _table_or_absent(before) and _table_or_absent(after):
        old, new = before or {}, after or {}
        for key in sorted(old.keys() | new.keys()):
            yield from differences(old.get(key), new.get(key), (*path, key))
    elif (type(before), before) != (type(after), after):
        yield Difference(path, before, after)


def effect(path: KeyPath, rules: Rules, default: Effect) -> Effect:
    """What the longest known prefix of the path says."""
    prefixes = (path[:length] for length in range(len(path), 0, -1))
    return next((rules[prefix] for prefix in prefixes if prefix in rules), default)


def judge(found: list[tuple[Difference, Effect]]) -> Judgement:
    """One finding for each kind of effect that matters, naming its keys; else a note of what differs."""
    found = [
        (difference, its_effect) for difference, its_effect in found if not _respelled(difference, its_effect)
    ]
    findings = []
    for kind in (Effect.BUILD, Effect.REQUIREMENT):
        changed = [difference for difference, its_effect in found if its_effect is kind]
        if changed:
            what = "the build uses" if kind is Effect.BUILD else f"{_title(changed)},"
            findings.append(Finding(kind.value, f"{what} {listed(changed)}"))
    if findings:
        return Judgement(tuple(findings))
    return Judgement(note=_harmless(found))


def _title(changed: list[Difference]) -> str:
    """What became of dependencies: a list holds several, any other value is one."""
    pairs: list[tuple[object, object]] = []
    for _, before, after in changed:
        if _requirement_list(before) and _requirement_list(after):
            pairs += requirements.differences(before or [], after or [])
        else:
            pairs.append((before is not _ABSENT, after is not _ABSENT))
    return requirements.title(pairs)


def _respelled(difference: Difference, its_effect: Effect) -> bool:
    """Whether a list of requirements asks for the same in another order or spelling."""
    lists = _requirement_list(difference.before) and _requirement_list(difference.after)
    if its_effect is not Effect.REQUIREMENT or not lists:
        return False
    return not requirements.differences(difference.before or [], difference.after or [])


def _harmless(found: list[tuple[Difference, Effect]]) -> str:
    if not found:
        return "comments or formatting only"
    keys = listed([difference.key for difference, _ in found])
    if all(its_effect is Effect.METADATA for _, its_effect in found):
        return f"metadata only: {keys}"
    return f"nothing that a build uses: {keys}"


def _table_or_absent(value: Any) -> bool:
    return value is _ABSENT or isinstance(value, dict)


def _requirement_list(value: Any) -> bool:
    return value is _ABSENT or (isinstance(value, list) and all(isinstance(item, str) for item in value))


def _short(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    text = printable(repr(value))
    return text if len(text) <= 60 else text[:57] + "..."
