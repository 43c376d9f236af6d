"""Runs in an interpreter of the target: what it would import, without importing anything.

Started by ``inspection.STARTER`` with the workload's environment, user and directory. Site processing and
start-up hooks have run as they would for the workload. Which process answers, ``template`` decides.
"""

from __future__ import annotations

import os
import site
import sys
from importlib import machinery

from overlaysync.agent.cores import in_parts
from overlaysync.agent.installed import (
    canonical,
    companions,
    distributions,
    listing,
    projects,
    top_level,
    versions,
)
from overlaysync.agent.native import native, never_waiting, search_path, text

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from typing import Any


WORTH_A_CORE = 25
"""So many modules take longer to compile than a process takes to start."""


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
    row: dict[str, Any] = {"module": text(module)}
    try:
        spec = _follow(module)
        if spec is None:
            return row
        row["origin"] = text(_real_place(spec.origin)) if spec.has_location and spec.origin else None
        row["locations"] = [text(os.path.realpath(item)) for item in spec.submodule_search_locations or ()]
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
    with open(spec.origin, "rb", opener=never_waiting) as stream:
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
    names = dict.fromkeys(distribution["mapped"], True) or top_level(*os.path.split(dist_info))
    return [_package(*item) for item in sorted(names.items())]


def _package(name: str, has_file: bool) -> dict[str, Any]:
    """A top-level name resolved; that of a package with an ``__init__`` must not be a namespace only."""
    row = resolve(name)
    if has_file and row.get("origin") is None and row.get("locations"):
        row["error"] = "only a namespace package is found (%s), without its __init__" % ", ".join(
            row["locations"]
        )
    return row


def survey(request: dict[str, Any]) -> dict[str, Any]:
    """What this interpreter is, and which copies of the distribution it sees: the host's ``Interpreter``."""
    names, project = listing(), canonical(request["distribution"])
    all_projects = projects(names)
    found = distributions(all_projects, project)
    usable = [(dist_info, item) for dist_info, item in found if item["form"] == "dist-info"]
    prefix = sys.pycache_prefix
    return {
        "real": text(os.path.realpath(sys.executable or "")),
        "prefix": text(sys.prefix),
        "version": ".".join(str(part) for part in sys.version_info[:3]),
        "cache_tag": sys.implementation.cache_tag,
        "extension_suffixes": list(machinery.EXTENSION_SUFFIXES),
        "pycache_prefix": text(os.path.abspath(prefix)) if prefix is not None else None,
        "search_path": [text(entry) for entry in search_path()],
        "finders": [str(getattr(finder, "__name__", type(finder).__name__)) for finder in sys.meta_path],
        "user_site": text(site.USER_SITE),
        "user_site_enabled": bool(site.ENABLE_USER_SITE),
        "no_user_site": text(os.environ.get("PYTHONNOUSERSITE")),
        "uid": os.getuid(),
        "installed": versions(all_projects),
        "companions": companions(all_projects, project, found[0][1]["requires"]) if found else [],
        "hooks": _hooks(names),
        "distributions": [item for _, item in found],
        "packages": _packages(*usable[0]) if usable else [],
    }


def _hooks(listing: list[tuple[str, str]]) -> list[str | None]:
    """What ran, or added paths, at the start: ``.pth`` files of site directories, and customising modules."""
    unread = {os.path.realpath(entry) for entry in (os.environ.get("PYTHONPATH") or "").split(os.pathsep)}
    sites = {os.path.realpath(entry) for entry in getattr(site, "getsitepackages", list)()}
    found = [
        text(name)
        for directory, name in listing
        if name.endswith(".pth") and (directory in sites or directory not in unread | {os.getcwd()})
    ]
    customised = [name for name in ("sitecustomize", "usercustomize") if name in sys.modules]
    return found + [text(name) for name in customised]


def read_back(request: dict[str, Any]) -> dict[str, Any]:
    """Resolves modules, and reads other files, as the user of this process."""
    code, names = request["code"], request["modules"]

    def resolved(part: Sequence[str]) -> list[dict[str, Any]]:
        return [resolve(native(name), code=code) for name in part]

    modules = in_parts(names, WORTH_A_CORE, resolved) if request.get("may_fork") else resolved(names)
    return {"modules": modules, "unreadable": list(_unreadable(request["files"]))}


def _unreadable(paths: Iterable[str]) -> Iterator[list[str]]:
    """Those of the files that cannot be read, each with the reason."""
    for path in paths:
        try:
            with open(native(path), "rb", opener=never_waiting) as stream:
                stream.read(1)
        except OSError as error:
            yield [path, error.strerror or "cannot be read"]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    return {"survey": survey, "read_back": read_back}[request["do"]](request)
