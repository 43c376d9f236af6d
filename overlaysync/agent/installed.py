"""The projects that an interpreter of the target sees; it is sent there (see ``inspection``)."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from functools import lru_cache

from overlaysync.agent.native import read, search_path, text

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from typing import Any, Tuple

    # directory, name of the metadata in it, canonical name of the project, version, form
    Project = Tuple[str, str, str, "str | None", str]

RECORD_LIMIT = 64 << 20
LIBRARY = re.compile(r"^\"?([^,\n]+\.so(?:\.\d+)*)\"?,", re.MULTILINE)
METADATA = re.compile(r"(.+?)(?:-([^-]+)(?:-py[\d.]+)?(?:-[^-]+)?)?\.(dist-info|egg-info|egg-link|egg)$")
ENDINGS = (".dist-info", ".egg-info", ".egg-link", ".egg")
TOP_LEVEL = re.compile(r"^\"?([^/,\n\"]+)(/__init__\.|/|[,\"]|$)", re.MULTILINE)
"""Of a line of RECORD, the first name and what follows it."""


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()  # PEP 503


def listing() -> list[tuple[str, str]]:
    """(directory, name) of everything that stands on the search path, in its order."""
    found: list[tuple[str, str]] = []
    seen = set()
    for entry in search_path():
        directory = os.path.realpath(entry or os.getcwd())
        if directory in seen or not os.path.isdir(directory):
            continue
        seen.add(directory)
        try:
            found.extend((directory, name) for name in sorted(os.listdir(directory)))
        except OSError:
            continue
    return found


def projects(listing: list[tuple[str, str]]) -> list[Project]:
    """The metadata of all projects on the search path, in its order."""
    found = []
    for directory, name in listing:
        match = METADATA.match(name) if name.endswith(ENDINGS) else None
        if match:
            found.append((directory, name, canonical(match.group(1)), match.group(2), match.group(3)))
    return found


def distributions(projects: list[Project], wanted: str) -> list[tuple[str, dict[str, Any]]]:
    """Every copy of the project, first found first: (its dist-info, description)."""
    return [
        (os.path.join(directory, name), _distribution(directory, name, version, form))
        for directory, name, project, version, form in projects
        if project == wanted
    ]


def versions(projects: list[Project]) -> dict[str, str | None]:
    """Versions of all projects on the search path, by the copy that is found first.

    Two in one directory are none: which of them the code is of cannot be told.
    """
    versions: dict[str, str | None] = {}
    places: dict[str, str] = {}
    for directory, _, name, version, _ in projects:
        project = str(text(name))
        if places.get(project) == directory:
            versions[project] = None
        versions.setdefault(project, text(version) if version else None)
        places.setdefault(project, directory)
    return versions


def _distribution(root: str, metadata: str, version: str | None, form: str) -> dict[str, Any]:
    direct_url = read(os.path.join(root, metadata, "direct_url.json"), 65536)
    record = record_text(root, metadata)
    editable = form == "egg-link" or re.search(r"^\"?__editable__", record, re.MULTILINE) is not None
    try:
        editable = editable or bool(json.loads(direct_url or "{}").get("dir_info", {}).get("editable"))
    except (ValueError, AttributeError, RecursionError):
        pass
    mapped = _mapped(root, metadata) if editable else {}
    return {
        "root": text(root),
        "metadata": text(metadata),
        "version": version or "unknown",
        "form": form,
        "editable": editable,
        "mapped": {str(text(name)): text(path) for name, path in mapped.items()},
        "direct_url": direct_url,
        "requires": _requirements(os.path.join(root, metadata, "METADATA")),
    }


def _mapped(root: str, metadata: str) -> dict[str, str]:
    """Top-level names of an editable install, and where each is: what its ``.pth`` adds, or its finder knows.

    A finder of setuptools holds a fixed map; it was loaded at the start of this process.
    """
    names: dict[str, str] = {}
    for entry in recorded(root, metadata):
        mapping = getattr(sys.modules.get(entry[:-3]), "MAPPING", None)
        if isinstance(mapping, dict):
            for name, path in mapping.items():
                names[str(name)] = os.path.realpath(re.sub(r"\.py$", "", str(path)))
        elif "/" not in entry and entry.endswith(".pth"):
            for directory in (read(os.path.join(root, entry)) or "").splitlines():
                if os.path.isabs(directory):
                    names.update(_named_in(os.path.realpath(directory), os.path.join(root, metadata)))
    return names


@lru_cache(maxsize=1)
def record_text(root: str, metadata: str) -> str:
    """RECORD as it was when this question first looked at it; empty where there is none."""
    return read(os.path.join(root, metadata, "RECORD"), RECORD_LIMIT) or ""


def recorded(root: str, metadata: str) -> list[str]:
    """The paths that RECORD lists."""
    return [line.split(",", 1)[0].strip('"') for line in record_text(root, metadata).splitlines()]


def top_level(root: str, metadata: str) -> dict[str, bool]:
    """Import names of a distribution, by its RECORD; whether a file is behind each, as of no namespace."""
    names: dict[str, bool] = {}
    for first, following in set(TOP_LEVEL.findall(record_text(root, metadata))):
        if following.startswith("/") and first.isidentifier():
            names[first] = names.get(first, False) or following != "/"
        elif not following.startswith("/") and first.endswith(".py") and first[:-3].isidentifier():
            names[first[:-3]] = True
    names.pop("__pycache__", None)
    return names


def _named_in(directory: str, dist_info: str) -> dict[str, str]:
    """Packages and modules of a directory: those that the metadata names, or all packages."""
    listed = (read(os.path.join(dist_info, "top_level.txt")) or "").split()
    try:
        names = listed or sorted(os.listdir(directory))
    except OSError:
        return {}
    places = {name: os.path.join(directory, name) for name in names if name.isidentifier()}
    return {
        name: place
        for name, place in places.items()
        if os.path.isfile(os.path.join(place, "__init__.py")) or (listed and os.path.exists(place + ".py"))
    }


def companions(projects: list[Project], project: str, requires: list[str]) -> list[dict[str, Any]]:
    """The project itself, what it requires, and what is named after it: the copies that are found first."""
    names = (re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", line) for line in requires)
    wanted = {project, *(canonical(name.group()) for name in names if name)}
    family = re.sub("-python$", "", project) + "-"
    found: dict[str, tuple[str, list[str]]] = {}
    for directory, name, other, _, _ in projects:
        if other in wanted or other.startswith(family):
            place, copies = found.setdefault(other, (directory, []))
            if place == directory:
                copies.append(name)
    rows = []
    for other, (directory, copies) in sorted(found.items()):
        row = _as_installed(directory, copies, libraries=other != project)  # its own are hashed
        rows.append({"name": text(other), "required": other in wanted, **row})
    return rows


def _as_installed(directory: str, copies: list[str], *, libraries: bool) -> dict[str, Any]:
    """What tells one installation of a project from another: digest of RECORD, times of it and libraries."""
    digest, places = hashlib.sha256(), []
    for name in copies:
        metadata = os.path.join(directory, name)
        files = [os.path.join(metadata, file) for file in ("RECORD", "METADATA", "PKG-INFO")] + [metadata]
        place = next((file for file in files if os.path.isfile(file)), metadata)
        record = read(place, RECORD_LIMIT) or ""
        digest.update(record.encode("utf-8", "surrogatepass"))
        places.append(place)
        if libraries:
            places += [os.path.join(directory, path) for path in LIBRARY.findall(record)]
    times = [status for place in places if (status := _status(place)) is not None]
    version = METADATA.match(copies[0])
    return {
        "version": text(version.group(2)) if version and len(copies) == 1 else None,
        "record_sha256": digest.hexdigest(),
        "changed_at": max((status.st_ctime for status in times), default=None),
        "written_at": max((status.st_mtime for status in times), default=None),
    }


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (OSError, ValueError):
        return None


def _requirements(metadata: str) -> list[str]:
    """``Requires-Dist`` of the core metadata, as written."""
    head = (read(metadata, 1 << 20) or "").partition("\n\n")[0]
    return re.findall(r"^Requires-Dist: *(.+)$", head, re.MULTILINE)
