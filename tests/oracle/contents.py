"""What a wheel installs, and what differs between two wheels besides what a developer changed himself."""

from __future__ import annotations

import configparser
import hashlib
import re
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from email import message_from_bytes
from pathlib import Path

from packaging.requirements import Requirement

from overlaysync.core.requirements import for_development_only

COMPILED = re.compile(r".+\.(so(\.\d+)*|pyd|dll|dylib|a)")
_DATA = re.compile(r"[^/]+\.data/(\w+)/(.+)")


def is_compiled(path: str) -> bool:
    """Whether a file of this name comes from a compiler or linker."""
    return COMPILED.fullmatch(path) is not None


def content_id(content: bytes) -> str:
    """The name by which contents are compared."""
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class WheelContents:
    """A wheel as it is installed.

    ``files``: below the install root. ``outside``: scripts, headers and data that go elsewhere.
    ``requirements``: without those of extras for development.
    """

    version: str
    files: Mapping[str, bytes]
    outside: Mapping[str, bytes]
    requirements: frozenset[str]
    entry_points: frozenset[tuple[str, str, str]]
    tags: frozenset[str]


def read_wheel(wheel: Path) -> WheelContents:
    """What the wheel at a path installs (PyPA: binary distribution format)."""
    files, outside, information = {}, {}, {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            scheme = _DATA.fullmatch(name)
            if name.endswith("/"):
                continue
            if scheme is None and ".dist-info/" in name:
                information[name.partition("/")[2]] = archive.read(name)
            elif scheme is None:
                files[name] = archive.read(name)
            elif scheme[1] in ("purelib", "platlib"):
                files[scheme[2]] = archive.read(name)
            else:
                outside[f"{scheme[1]}/{scheme[2]}"] = archive.read(name)
    metadata, tags = message_from_bytes(information["METADATA"]), message_from_bytes(information["WHEEL"])
    requirements = {Requirement(text) for text in metadata.get_all("Requires-Dist", [])}
    return WheelContents(
        version=metadata["Version"],
        files=files,
        outside=outside,
        requirements=frozenset(str(item) for item in requirements if not _is_for_development(item)),
        entry_points=_entry_points(information.get("entry_points.txt", b"")),
        tags=frozenset([*tags.get_all("Tag", []), f"pure: {tags['Root-Is-Purelib']}"]),
    )


def _is_for_development(requirement: Requirement) -> bool:
    """Whether only an extra for work on the project asks for it: nothing that is installed depends on it."""
    extra = re.search(r"""extra == ["']([^"']+)""", str(requirement.marker or ""))
    return extra is not None and for_development_only(extra[1])


def _entry_points(text: bytes) -> frozenset[tuple[str, str, str]]:
    parser = configparser.RawConfigParser(delimiters=("=",), strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # the documented way to keep letter case
    parser.read_string(text.decode())
    return frozenset((group, *item) for group in parser.sections() for item in parser.items(group))


def differences(one: WheelContents, other: WheelContents, own: Collection[str] = ()) -> tuple[str, ...]:
    """What a rebuild brings that copying the changed files does not; empty where the wheels say the same.

    Args:
        own: content ids of the files that the wheels are known to differ in: their copies do not count.
    """
    found = [
        _sets("requirements", one.requirements, other.requirements),
        _sets("entry points", one.entry_points, other.entry_points),
        _sets("tags", one.tags, other.tags),
        _files("outside the package", one.outside, other.outside),
        _files("compiled", *(_compiled(each) for each in (one, other))),
    ]
    versions = sorted({one.version.encode(), other.version.encode()}, key=len, reverse=True)
    found.append(_files("files", *(_others(each, own, versions) for each in (one, other))))
    return tuple(text for text in found if text)


def _compiled(wheel: WheelContents) -> Mapping[str, bytes]:
    return {path: content for path, content in wheel.files.items() if is_compiled(path)}


def _others(wheel: WheelContents, own: Collection[str], versions: list[bytes]) -> Mapping[str, bytes]:
    return {
        path: _versionless(content, versions)
        for path, content in wheel.files.items()
        if not is_compiled(path) and content_id(content) not in own
    }


def _sets(what: str, one: Collection[object], other: Collection[object]) -> str | None:
    changed = sorted(map(str, set(one) ^ set(other)))
    return f"{what}: {_listed(changed)}" if changed else None


def _files(what: str, one: Mapping[str, bytes], other: Mapping[str, bytes]) -> str | None:
    changed = [path for path in sorted(one.keys() | other.keys()) if one.get(path) != other.get(path)]
    return f"{what}: {_listed(changed)}" if changed else None


def _listed(items: list[str], limit: int = 3) -> str:
    more = len(items) - limit
    return ", ".join(items[:limit]) + (f" and {more} more" if more > 0 else "")


def _versionless(content: bytes, versions: list[bytes]) -> bytes:
    """Generated version files differ in nothing but the version, as text or as a tuple."""
    for version in versions:
        content = content.replace(version, b"VERSION")
        numbers = rb",\s*".join(re.findall(rb"\d+|[a-z]+\d*", version))
        content = re.sub(rb"\(" + numbers + rb"\)", b"(VERSION)", content)
    return content
