"""Runs in an interpreter of the target: what it would import, without importing anything.

Started by ``inspection.STARTER`` with the workload's environment, user and directory. Site processing and
start-up hooks have run as they would for the workload. Which process answers, ``template`` decides.
"""

from __future__ import annotations

import sys

_first = sys.path[:1] if sys.path[:1] == [""] else []
del sys.path[: len(_first)]  # a json.py in the working directory must not be ours
import hashlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import re  # noqa: E402
import site  # noqa: E402
from importlib import machinery  # noqa: E402

sys.path[:0] = _first

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.machinery import ModuleSpec
    from typing import Any


def _text(value: object) -> str | None:
    return os.fsencode(value).decode("utf-8", "surrogateescape") if isinstance(value, str) else None


def _native(value: str) -> str:
    return os.fsdecode(value.encode("utf-8", "surrogateescape"))


def _search_path() -> list[str]:
    return [entry for entry in sys.path if isinstance(entry, str)]  # the import system skips others too


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()  # PEP 503


RECORD_LIMIT = 64 << 20
LIBRARY = re.compile(r"^\"?([^,\n]+\.so(?:\.\d+)*)\"?,", re.MULTILINE)
METADATA = re.compile(r"(.+?)(?:-([^-]+)(?:-py[\d.]+)?(?:-[^-]+)?)?\.(dist-info|egg-info|egg-link|egg)$")


def _listing() -> list[tuple[str, str]]:
    """(directory, name) of everything that stands on the search path, in its order."""
    found: list[tuple[str, str]] = []
    seen = set()
    for entry in _search_path():
        directory = os.path.realpath(entry or os.getcwd())
        if directory in seen or not os.path.isdir(directory):
            continue
        seen.add(directory)
        try:
            found.extend((directory, name) for name in sorted(os.listdir(directory)))
        except OSError:
            continue
    return found


def _distributions(listing: list[tuple[str, str]], wanted: str) -> list[tuple[str, dict[str, Any]]]:
    """Every copy of the project on the search path, first found first: (its dist-info, description)."""
    found = []
    for directory, name in listing:
        match = METADATA.match(name)
        if match and _canonical(match.group(1)) == wanted:
            description = _distribution(directory, name, match.group(2), match.group(3))
            found.append((os.path.join(directory, name), description))
    return found


def _installed(listing: list[tuple[str, str]]) -> dict[str, str | None]:
    """Versions of all projects on the search path, by the copy that is found first.

    Two in one directory are none: which of them the code is of cannot be told.
    """
    versions: dict[str, str | None] = {}
    places: dict[str, str] = {}
    for directory, name in listing:
        match = METADATA.match(name)
        if match:
            project, version = str(_text(_canonical(match.group(1)))), match.group(2)
            if places.get(project) == directory:
                versions[project] = None
            versions.setdefault(project, _text(version) if version else None)
            places.setdefault(project, directory)
    return versions


def _distribution(root: str, metadata: str, version: str | None, form: str) -> dict[str, Any]:
    direct_url = _read(os.path.join(root, metadata, "direct_url.json"), 65536)
    editable = form == "egg-link" or any(
        name.startswith("__editable__") for name in _recorded(root, metadata)
    )
    try:
        editable = editable or bool(json.loads(direct_url or "{}").get("dir_info", {}).get("editable"))
    except (ValueError, AttributeError, RecursionError):
        pass
    mapped = _mapped(root, metadata) if editable else {}
    return {
        "root": _text(root),
        "metadata": _text(metadata),
        "version": version or "unknown",
        "form": form,
        "editable": editable,
        "mapped": {str(_text(name)): _text(path) for name, path in mapped.items()},
        "direct_url": direct_url,
        "requires": _requirements(os.path.join(root, metadata, "METADATA")),
    }


def _mapped(root: str, metadata: str) -> dict[str, str]:
    """Top-level names of an editable install, and where each is: what its ``.pth`` adds, or its finder knows.

    A finder of setuptools holds a fixed map; it was loaded at the start of this process.
    """
    names: dict[str, str] = {}
    for entry in _recorded(root, metadata):
        mapping = getattr(sys.modules.get(entry[:-3]), "MAPPING", None)
        if isinstance(mapping, dict):
            for name, path in mapping.items():
                names[str(name)] = os.path.realpath(re.sub(r"\.py$", "", str(path)))
        elif "/" not in entry and entry.endswith(".pth"):
            for directory in (_read(os.path.join(root, entry)) or "").splitlines():
                if os.path.isabs(directory):
                    names.update(_named_in(os.path.realpath(directory), os.path.join(root, metadata)))
    return names


def _recorded(root: str, metadata: str) -> list[str]:
    """The paths that RECORD lists."""
    lines = (_read(os.path.join(root, metadata, "RECORD")) or "").splitlines()
    return [line.split(",", 1)[0].strip('"') for line in lines]


def _named_in(directory: str, dist_info: str) -> dict[str, str]:
    """Packages and modules of a directory: those that the metadata names, or all packages."""
    listed = (_read(os.path.join(dist_info, "top_level.txt")) or "").split()
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


def _companions(listing: list[tuple[str, str]], project: str, requires: list[str]) -> list[dict[str, Any]]:
    """The project itself, what it requires, and what is named after it: the copies that are found first."""
    names = (re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", text) for text in requires)
    wanted = {project, *(_canonical(name.group()) for name in names if name)}
    family = re.sub("-python$", "", project) + "-"
    found: dict[str, tuple[str, list[str]]] = {}
    for directory, name in listing:
        match = METADATA.match(name)
        other = _canonical(match.group(1)) if match else ""
        if other in wanted or other.startswith(family):
            place, copies = found.setdefault(other, (directory, []))
            if place == directory:
                copies.append(name)
    rows = []
    for other, (directory, copies) in sorted(found.items()):
        row = _as_installed(directory, copies, libraries=other != project)  # its own are hashed
        rows.append({"name": _text(other), "required": other in wanted, **row})
    return rows


def _as_installed(directory: str, copies: list[str], *, libraries: bool) -> dict[str, Any]:
    """What tells one installation of a project from another: digest of RECORD, times of it and libraries."""
    digest, places = hashlib.sha256(), []
    for name in copies:
        metadata = os.path.join(directory, name)
        files = [os.path.join(metadata, file) for file in ("RECORD", "METADATA", "PKG-INFO")] + [metadata]
        place = next((file for file in files if os.path.isfile(file)), metadata)
        text = _read(place, RECORD_LIMIT) or ""
        digest.update(text.encode("utf-8", "surrogatepass"))
        places.append(place)
        places += [os.path.join(directory, path) for path in LIBRARY.findall(text) if libraries]
    times = [status for place in places if (status := _status(place)) is not None]
    version = METADATA.match(copies[0])
    return {
        "version": _text(version.group(2)) if version and len(copies) == 1 else None,
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
    head = (_read(metadata, 1 << 20) or "").partition("\n\n")[0]
    return re.findall(r"^Requires-Dist: *(.+)$", head, re.MULTILINE)


def _read(path: str, limit: int = -1) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace", opener=_never_waiting) as stream:
            return stream.read(limit)
    except OSError:
        return None


def _never_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a FIFO would wait for its writer


def _find(name: str, path: Iterable[str] | None) -> ModuleSpec | None:
    """The spec of one name by the meta path finders; a module that a start-up hook loaded has its own."""
    spec: ModuleSpec | None = getattr(sys.modules.get(name), "__spec__", None)
    for finder in sys.meta_path if spec is None else ():
        find = getattr(finder, "find_spec", None)
        spec = find(name, path, None) if find else None
        if spec is not None:
            break
    return spec


def _follow(module: str) -> ModuleSpec | None:
    """The spec of a dotted name, from package to package; nothing of the packages is executed."""
    spec: ModuleSpec | None = None
    path: Iterable[str] | None = None
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        name = ".".join(parts[:depth])
        spec = _find(name, path)
        if spec is None:
            return None
        path = getattr(sys.modules.get(name), "__path__", spec.submodule_search_locations)
        if path is None and depth < len(parts):
            return None
        if path is not None and name not in sys.modules:
            # a namespace package looks its parent up there; this stands in for it, empty
            module_type: Any = type(sys)
            stand_in = sys.modules[name] = module_type(name)
            stand_in.__path__, stand_in.__spec__ = path, spec
    return spec


def resolve(module: str, *, code: bool = False) -> dict[str, Any]:
    """What a dotted name resolves to, as the host's ``Resolution``; ``code``: and what would run of it."""
    row: dict[str, Any] = {"module": _text(module)}
    try:
        spec = _follow(module)
        if spec is None:
            return row
        row["origin"] = _text(_real_place(spec.origin)) if spec.has_location and spec.origin else None
        row["locations"] = [_text(os.path.realpath(item)) for item in spec.submodule_search_locations or ()]
        row["loader"] = type(spec.loader).__name__ if spec.loader is not None else None
        if code and row["loader"] == "SourceFileLoader":
            row["runs_source"] = _runs_source(spec, module)
    except Exception as error:  # a finder of the target may raise anything
        row["error"] = "%s: %s" % (type(error).__name__, _printable(error))
    return row


def _real_place(path: str) -> str:
    """The path with the links of its directory resolved; a file that is itself a link keeps its name."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _runs_source(spec: Any, module: str) -> bool:
    """Whether the code that the loader would run (from bytecode, where it accepts some) is the source's."""
    compiled_now = _has_no_bytecode(spec)
    code = spec.loader.get_code(module)
    if compiled_now and _has_no_bytecode(spec):
        return True
    with open(spec.origin, "rb", opener=_never_waiting) as stream:
        source = stream.read()
    return _same(code, compile(source, spec.origin, "exec", dont_inherit=True))


FROZEN = "<frozen importlib._bootstrap_external>"
LOADING = ("get_code", "get_data", "get_filename", "path_stats", "source_to_code")
OWN = {"name", "path"}
"""What a loader of Python's own has of its own: no method of another's."""


def _has_no_bytecode(spec: Any) -> bool:
    """Whether Python's own loader, as Python has it, can take the code from this very source alone."""
    loader, cached = spec.loader, spec.cached
    if (
        type(loader) is not machinery.SourceFileLoader
        or loader.path != spec.origin
        or vars(loader).keys() != OWN
    ):
        return False
    steps = (getattr(getattr(machinery.SourceFileLoader, step), "__code__", None) for step in LOADING)
    if any(getattr(code, "co_filename", "") != FROZEN for code in steps):
        return False  # an import hook changes what is loaded
    return not (cached and os.path.lexists(cached))


def _same(left: Any, right: Any) -> bool:
    """Equality of code, in which a constant that is not a number equals itself."""
    if left == right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, (float, complex)):
        return repr(left) == repr(right)
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, type(_same.__code__)):
        other_than_code = ("co_filename", "co_lines", "co_lnotab")
        names = [name for name in dir(left) if name.startswith("co_") and name not in other_than_code]
        values = [(getattr(left, name), getattr(right, name)) for name in names]
        return all(_same(one, other) for one, other in values if not callable(one))
    return False


def _printable(error: Exception) -> str:
    return str(error).encode("ascii", "backslashreplace").decode("ascii")[:500]


def _packages(dist_info: str, distribution: dict[str, Any]) -> list[dict[str, Any]]:
    """The top-level names of a distribution, resolved."""
    root, metadata = os.path.split(dist_info)
    return [_package(*item) for item in sorted(_top_level(root, metadata, distribution["mapped"]).items())]


def _package(name: str, has_file: bool) -> dict[str, Any]:
    """A top-level name resolved; that of a package with an ``__init__`` must not be a namespace only."""
    row = resolve(name)
    if has_file and row.get("origin") is None and row.get("locations"):
        row["error"] = "only a namespace package is found (%s), without its __init__" % ", ".join(
            row["locations"]
        )
    return row


def _top_level(root: str, metadata: str, mapped: Iterable[str]) -> dict[str, bool]:
    """Import names of a distribution, by its RECORD; whether a file is behind each, as of no namespace."""
    names = dict.fromkeys(mapped, True)
    for path in () if names else _recorded(root, metadata):
        first, _, rest = path.partition("/")
        if rest and first.isidentifier():
            names[first] = names.get(first, False) or rest.startswith("__init__.")
        elif not rest and first.endswith(".py") and first[:-3].isidentifier():
            names[first[:-3]] = True
    names.pop("__pycache__", None)
    return names


def survey(request: dict[str, Any]) -> dict[str, Any]:
    """What this interpreter is, and which copies of the distribution it sees: the host's ``Interpreter``."""
    listing, project = _listing(), _canonical(request["distribution"])
    found = _distributions(listing, project)
    usable = [(dist_info, item) for dist_info, item in found if item["form"] == "dist-info"]
    prefix = sys.pycache_prefix
    return {
        "real": _text(os.path.realpath(sys.executable or "")),
        "prefix": _text(sys.prefix),
        "version": ".".join(str(part) for part in sys.version_info[:3]),
        "cache_tag": sys.implementation.cache_tag,
        "extension_suffixes": list(machinery.EXTENSION_SUFFIXES),
        "pycache_prefix": _text(os.path.abspath(prefix)) if prefix is not None else None,
        "search_path": [_text(entry) for entry in _search_path()],
        "finders": [str(getattr(finder, "__name__", type(finder).__name__)) for finder in sys.meta_path],
        "user_site": _text(site.USER_SITE),
        "user_site_enabled": bool(site.ENABLE_USER_SITE),
        "no_user_site": _text(os.environ.get("PYTHONNOUSERSITE")),
        "uid": os.getuid(),
        "installed": _installed(listing),
        "companions": _companions(listing, project, found[0][1]["requires"]) if found else [],
        "hooks": _hooks(listing),
        "distributions": [item for _, item in found],
        "packages": _packages(*usable[0]) if usable else [],
    }


def _hooks(listing: list[tuple[str, str]]) -> list[str | None]:
    """What ran, or added paths, at the start: ``.pth`` files of site directories, and customising modules."""
    unread = {os.path.realpath(entry) for entry in (os.environ.get("PYTHONPATH") or "").split(os.pathsep)}
    sites = {os.path.realpath(entry) for entry in getattr(site, "getsitepackages", list)()}
    found = [
        _text(name)
        for directory, name in listing
        if name.endswith(".pth") and (directory in sites or directory not in unread | {os.getcwd()})
    ]
    customised = [name for name in ("sitecustomize", "usercustomize") if name in sys.modules]
    return found + [_text(name) for name in customised]


def read_back(request: dict[str, Any]) -> dict[str, Any]:
    """Resolves modules, and reads other files, as the user of this process."""
    unreadable = []
    for path in request["files"]:
        try:
            with open(_native(path), "rb", opener=_never_waiting) as stream:
                stream.read(1)
        except OSError as error:
            unreadable.append([path, error.strerror or "cannot be read"])
    code = request["code"]
    modules = [resolve(_native(name), code=code) for name in request["modules"]]
    return {"modules": modules, "unreadable": unreadable}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    return {"survey": survey, "read_back": read_back}[request["do"]](request)
