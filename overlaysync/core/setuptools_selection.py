"""Which packages, modules and data a setuptools build takes, where a build file lists or selects them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import tomli
from msgspec import Struct, structs

from overlaysync.core.patterns import Patterns
from overlaysync.core.python_source import PARSER_FAILURES
from overlaysync.model.target import InstalledPath

Names = tuple[str, ...]
PACKAGE_FINDERS = ("find_packages", "find_namespace_packages")


class Selection(Struct, frozen=True):
    """What is written down; None where it is not, or not in a form that can be read without running it.

    ``finds``: packages are found, by ``include`` and ``exclude``, which are patterns of their names;
    ``namespaces``: also those without an ``__init__.py``. ``data``: patterns of files by package. ``more``:
    others are listed elsewhere (``MANIFEST.in``, a plug-in that asks git), so what is not selected may ship.
    """

    packages: Names | None = None
    modules: Names | None = None
    finds: bool = False
    namespaces: bool = False
    include: Names = ("*",)
    exclude: Names = ()
    data: Mapping[str, Names] | None = None
    more: bool = False

    def takes(self, place: InstalledPath) -> bool:
        """Whether a file at an installed path is among what is selected."""
        directory, _, name = place.rpartition("/")
        if not name.endswith(".py"):
            return self.data is None or self._takes_data(directory, name, self.data)
        if not directory:
            return self.modules is None or name[: -len(".py")] in self.modules
        package = directory.replace("/", ".")
        if package in self.packages if self.packages is not None else self._finds(package):
            return True
        return self.data is not None and self._takes_data(directory, name, self.data)

    def _finds(self, package: str) -> bool:
        return _matches(package, self.include) and not _matches(package, self.exclude)

    @staticmethod
    def _takes_data(directory: str, name: str, data: Mapping[str, Names]) -> bool:
        parts = [part for part in directory.split("/") if part]
        for depth in range(len(parts), 0, -1):
            patterns = [
                f"/{pattern.lstrip('/')}"
                for package in (".".join(parts[:depth]), "*", "")
                for pattern in data.get(package, ())
            ]
            if Patterns(patterns).match("/".join([*parts[depth:], name])):
                return True
        return False


def selection(head: Mapping[str, bytes]) -> Selection:
    """What the build files of HEAD select, by name; the first that speaks of packages or modules counts."""
    found = (
        _of_pyproject(head.get("pyproject.toml", b"")),
        _of_setup_cfg(head["setup.cfg"]) if "setup.cfg" in head else None,
        _of_setup_py(head.get("setup.py", b"")),
    )
    said = next((item for item in found if item is not None), Selection())
    listed = re.search(
        rb"setuptools[-_.](scm|git)", head.get("pyproject.toml", b"") + head.get("setup.py", b"")
    )
    more = "MANIFEST.in" in head or listed is not None
    return structs.replace(said, more=more, data=None if more else said.data)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _names(value: Any) -> Names | None:
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return None


def _data(value: Any) -> dict[str, Names] | None:
    if not isinstance(value, dict):
        return None
    return {str(package): names for package, item in value.items() if (names := _names(item)) is not None}


def _of_pyproject(content: bytes) -> Selection | None:
    try:
        table = tomli.loads(content.decode("utf-8")).get("tool", {}).get("setuptools", {})
        packages = table.get("packages")
    except (tomli.TOMLDecodeError, UnicodeDecodeError, RecursionError, AttributeError):
        return None
    find = packages.get("find") if isinstance(packages, dict) else None
    finds, find = find is not None, find if isinstance(find, dict) else {}
    if packages is None and "py-modules" not in table:
        return None
    return Selection(
        packages=_names(packages),
        modules=_names(table.get("py-modules")),
        finds=finds,
        namespaces=finds and find.get("namespaces") is not False,  # unlike by the older files' finders
        include=_names(find.get("include")) or ("*",),
        exclude=_names(find.get("exclude")) or (),
        data=_data(table.get("package-data")),
    )


def _of_setup_cfg(content: bytes) -> Selection | None:
    import configparser

    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # the documented way to keep letter case
    try:
        parser.read_string(content.decode("utf-8"))
    except (configparser.Error, UnicodeDecodeError):
        return None

    def listed(section: str, key: str) -> Names | None:
        text = parser.get(section, key, fallback=None)
        return None if text is None else tuple(word for word in re.split(r"[,\n]\s*", text.strip()) if word)

    packages, modules = listed("options", "packages"), listed("options", "py_modules")
    if packages is None and modules is None:
        return None
    finder = packages[0] if packages and packages[0].startswith("find") else None
    by_package = "options.package_data"
    data = parser.options(by_package) if parser.has_section(by_package) else ()
    return Selection(
        packages=packages if finder is None else None,
        modules=modules,
        finds=finder is not None,
        namespaces=finder == "find_namespace:",
        include=listed("options.packages.find", "include") or ("*",),
        exclude=listed("options.packages.find", "exclude") or (),
        data={package: listed(by_package, package) or () for package in data} or None,
    )


def _of_setup_py(content: bytes) -> Selection | None:
    try:
        tree = ast.parse(content)
    except PARSER_FAILURES:
        return None
    keywords = {keyword.arg: keyword.value for keyword in _setup_keywords(tree)}
    packages, modules = keywords.get("packages"), keywords.get("py_modules")
    if packages is None and modules is None:
        return None
    found = _finder_arguments(packages)
    finder = _called(packages) if isinstance(packages, ast.Call) else ""
    return Selection(
        packages=_names(_literal(packages)),
        modules=_names(_literal(modules)),
        finds=finder in PACKAGE_FINDERS,
        namespaces="namespace" in finder,
        include=_names(found.get("include")) or ("*",),
        exclude=_names(found.get("exclude")) or (),
        data=_data(_literal(keywords.get("package_data"))),
    )


def _setup_keywords(tree: ast.Module) -> Iterator[ast.keyword]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) == "setup":
            yield from node.keywords


def _called(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def _finder_arguments(node: ast.expr | None) -> dict[str, Any]:
    """What ``find_packages(where, exclude, include)`` is called with."""
    if not isinstance(node, ast.Call) or _called(node) not in PACKAGE_FINDERS:
        return {}
    given = dict(zip(("where", "exclude", "include"), map(_literal, node.args), strict=False))
    return given | {item.arg: _literal(item.value) for item in node.keywords if item.arg}


def _literal(node: ast.expr | None) -> Any:
    try:
        return ast.literal_eval(node) if node is not None else None
    except PARSER_FAILURES:
        return None
