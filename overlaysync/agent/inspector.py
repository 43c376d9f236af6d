"""Runs in a fresh interpreter of the target: what it would import, without importing anything.

Started as ``PYTHON -c SOURCE HANDLE`` with the workload's environment, user and directory; reads one JSON
request from stdin and writes one JSON answer to the inherited handle, so that what start-up hooks print does
no harm. Site processing and start-up hooks run as they would for the workload.
"""

import sys

_first = sys.path[:1] if sys.path[:1] == [""] else []
del sys.path[: len(_first)]  # a json.py in the working directory must not be ours
import json  # noqa: E402
import os  # noqa: E402
import re  # noqa: E402

sys.path[:0] = _first


def _text(value):
    return os.fsencode(value).decode("utf-8", "surrogateescape") if isinstance(value, str) else None


def _native(value):
    return os.fsdecode(value.encode("utf-8", "surrogateescape"))


def _canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()  # PEP 503


def _distributions(wanted):
    """Every copy of the project on the search path, first found first."""
    found, seen = [], set()
    for entry in sys.path:
        directory = os.path.realpath(entry or os.getcwd())
        if directory in seen or not os.path.isdir(directory):
            continue
        seen.add(directory)
        try:
            names = sorted(os.listdir(directory))
        except OSError:
            continue
        for name in names:
            match = re.match(
                r"(.+?)(?:-([^-]+)(?:-py[\d.]+)?(?:-[^-]+)?)?\.(dist-info|egg-info|egg-link|egg)$", name
            )
            if match and _canonical(match.group(1)) == wanted:
                found.append(_distribution(directory, name, match.group(2), match.group(3)))
    return found


def _distribution(root, metadata, version, form):
    direct_url = _read(os.path.join(root, metadata, "direct_url.json"))
    editable = form == "egg-link"
    try:
        editable = editable or bool(json.loads(direct_url or "{}").get("dir_info", {}).get("editable"))
    except (ValueError, AttributeError):
        pass
    return {
        "root": _text(root),
        "metadata": _text(metadata),
        "version": version or "unknown",
        "form": form,
        "editable": editable,
        "direct_url": direct_url,
    }


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read(65536)
    except OSError:
        return None


def _spec(name, path):
    """The spec of one name by the meta path finders; a module that a start-up hook loaded has its own."""
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__spec__", None) is not None:
        return loaded.__spec__
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec = find(name, path, None) if find else None
        if spec is not None:
            return spec
    return None


def resolve(module):
    """Follows a dotted name from package to package; nothing of the package is executed."""
    row = {"module": _text(module)}
    try:
        spec, path = None, None
        parts = module.split(".")
        for depth in range(1, len(parts) + 1):
            spec = _spec(".".join(parts[:depth]), path)
            if spec is None:
                return row
            path = spec.submodule_search_locations
            if path is None and depth < len(parts):
                return row
        row["origin"] = _text(_real_place(spec.origin)) if spec.has_location else None
        row["locations"] = [_text(os.path.realpath(item)) for item in path or ()]
        row["loader"] = type(spec.loader).__name__ if spec.loader is not None else None
        if row["loader"] == "SourceFileLoader":
            row["runs_source"] = _runs_source(spec, module)
    except Exception as error:  # a finder of the target may raise anything
        row["error"] = "%s: %s" % (type(error).__name__, _printable(error))
    return row


def _real_place(path):
    """The path with the links of its directory resolved; a file that is itself a link keeps its name."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _runs_source(spec, module):
    """Whether the code that the loader would run (from bytecode, where it accepts some) is the source's."""
    with open(spec.origin, "rb") as stream:
        source = stream.read()
    expected = compile(source, spec.origin, "exec", dont_inherit=True)
    return spec.loader.get_code(module) == expected


def _printable(error):
    return str(error).encode("ascii", "backslashreplace").decode("ascii")[:500]


def _top_level(distribution):
    """Import names of a distribution, by its RECORD."""
    record = _read_all(
        os.path.join(_native(distribution["root"]), _native(distribution["metadata"]), "RECORD")
    )
    names = set()
    for line in record.splitlines():
        first, _, rest = line.split(",", 1)[0].strip('"').partition("/")
        if rest and re.match(r"[^\W\d]\w*$", first):
            names.add(first)
        elif not rest and first.endswith(".py") and first[:-3].isidentifier():
            names.add(first[:-3])
    return sorted(names - {"__pycache__"})


def _read_all(path):
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            return stream.read()
    except OSError:
        return ""


def survey(request):
    import site
    from importlib import machinery

    found = _distributions(_canonical(request["distribution"]))
    usable = [item for item in found if item["form"] == "dist-info"]
    return {
        "real": _text(os.path.realpath(sys.executable or "")),
        "prefix": _text(sys.prefix),
        "version": ".".join(str(part) for part in sys.version_info[:3]),
        "cache_tag": sys.implementation.cache_tag,
        "extension_suffixes": list(machinery.EXTENSION_SUFFIXES),
        "pycache_prefix": _text(sys.pycache_prefix),
        "search_path": [_text(entry) for entry in sys.path],
        "finders": [getattr(finder, "__name__", type(finder).__name__) for finder in sys.meta_path],
        "user_site": _text(site.USER_SITE),
        "user_site_enabled": bool(site.ENABLE_USER_SITE),
        "uid": os.getuid(),
        "distributions": found,
        "packages": [resolve(name) for name in _top_level(usable[0])] if usable else [],
    }


def read_back(request):
    """Resolves modules, and reads other files, as the user of this process."""
    unreadable = []
    for path in request["files"]:
        try:
            with open(_native(path), "rb") as stream:
                stream.read(1)
        except OSError as error:
            unreadable.append([path, error.strerror or "cannot be read"])
    return {"modules": [resolve(_native(name)) for name in request["modules"]], "unreadable": unreadable}


def main():
    sys.dont_write_bytecode = True
    request = json.loads(sys.stdin.read())
    answer = {"survey": survey, "read_back": read_back}[request["do"]](request)
    with os.fdopen(int(sys.argv[1]), "wb") as stream:
        stream.write(json.dumps(answer).encode("ascii"))


if __name__ == "__main__":
    main()
