"""``setup.py`` and ``setup.cfg``: what setuptools reads from them."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from overlaysync.core import definitions, python_source, requirements, tables
from overlaysync.core.finding import Finding, Judgement, listed
from overlaysync.core.imported_names import dotted_name
from overlaysync.core.pyproject import PROJECT_METADATA
from overlaysync.core.python_source import FORMATTING_ONLY, PARSER_FAILURES, Side
from overlaysync.core.tables import Difference, Effect, Rules
from overlaysync.core.vocabulary import words

_METADATA = frozenset(PROJECT_METADATA) | words(
    "long_description long_description_content_type author author_email maintainer maintainer_email",
    "url download_url project_urls license_files platforms python_requires",
)
_REQUIREMENTS = ("install_requires", "extras_require")
_SETUP_MODULES = frozenset({"setuptools", "distutils", "skbuild", "numpy"})
_COMMANDS = words(
    "build build_ext build_py build_clib build_scripts bdist bdist_wheel bdist_egg sdist install install_lib",
    "install_data install_scripts develop egg_info easy_install editable_wheel dist_info",
)

SETUP_CFG_RULES: Rules = {
    ("metadata",): Effect.BUILD,
    **{("metadata", key): Effect.METADATA for key in _METADATA},
    ("options",): Effect.BUILD,
    ("options", "install_requires"): Effect.REQUIREMENT,
    ("options", "python_requires"): Effect.METADATA,
    ("options", "tests_require"): Effect.NOTHING,
    **{
        (section,): Effect.BUILD
        for section in (*_COMMANDS, "global", "versioneer", "pbr", "files", "entry_points")
    },
    **{("egg_info", key): Effect.METADATA for key in ("tag_build", "tag_date")},  # parts of the version
    ("extras",): Effect.REQUIREMENT,
}
"""Sections of setuptools, its commands and pbr; every other section belongs to another tool."""


def judge_setup_cfg(before: bytes | None, after: bytes | None) -> Judgement:
    """Compare two sides of a ``setup.cfg``; a missing side is an empty one."""
    import configparser

    try:
        found = list(tables.differences(_sections(before), _sections(after)))
    except (configparser.Error, UnicodeDecodeError) as error:
        message = f"cannot be parsed, so nothing says what differs: {type(error).__name__}"
        return Judgement((Finding("build-change", message),))
    return tables.judge([(each, _setup_cfg_effect(each)) for each in found])


def _sections(content: bytes | None) -> dict[str, Any]:
    """Sections as tables, with lists of requirements as lists."""
    import configparser

    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # the documented way to keep letter case
    parser.read_string((content or b"").decode("utf-8"))
    return {
        section: {key: _value(section, key, text) for key, text in parser.items(section)}
        for section in parser.sections()
    }


def _value(section: str, key: str, text: str) -> Any:
    if section == "options.extras_require" or key in ("install_requires", "setup_requires"):
        return [line.strip() for line in text.splitlines() if line.strip()]
    return text


def _setup_cfg_effect(difference: Difference) -> Effect:
    match difference.path:
        case ("options.extras_require", extra):
            return Effect.NOTHING if requirements.for_development_only(extra) else Effect.REQUIREMENT
        case (section, *_) if section.startswith("options."):
            return Effect.BUILD
    return tables.effect(difference.path, SETUP_CFG_RULES, Effect.NOTHING)


class _Script(NamedTuple):
    """A ``setup.py`` without metadata and requirements, and the requirements that were taken out."""

    side: Side
    requirements: dict[str, Any]


def judge_setup_script(before: bytes | None, after: bytes | None) -> Judgement:
    """Compare two sides of a ``setup.py`` by syntax; a missing side is an empty one."""
    try:
        same_text = _same_syntax(python_source.parse(before), python_source.parse(after))
        old, new = _script(before), _script(after)
    except PARSER_FAILURES:
        return Judgement((Finding("build-change", "cannot be parsed, so nothing says what differs"),))
    if same_text:
        return Judgement(note=FORMATTING_ONLY)
    found = list(tables.differences(old.requirements, new.requirements))
    judged = tables.judge([(each, _requirement_effect(each)) for each in found])
    if _same_syntax(old.side, new.side):
        return judged if found else Judgement(note="metadata only")
    changed = definitions.changed_titles(old.side.units, new.side.units)
    return Judgement((Finding("build-change", f"the build uses {listed(changed)}"), *judged.findings))


def _requirement_effect(difference: Difference) -> Effect:
    """A computed value is never taken for a development matter, whatever its name: it may be a condition."""
    written_out = len(difference.path) > 1 or isinstance(difference.before or difference.after, list)
    for_development = written_out and requirements.for_development_only(difference.path[-1])
    return Effect.NOTHING if for_development else Effect.REQUIREMENT


def calls_setup(content: bytes | None) -> bool:
    """Whether the file calls ``setup()`` of setuptools or distutils; a module of that name may not."""
    try:
        side = python_source.parse(content)
    except PARSER_FAILURES:
        return False
    return any(_is_setup(node, side) for node in ast.walk(side.tree))


def _script(content: bytes | None) -> _Script:
    side = python_source.parse(content)
    calls = [node for node in ast.walk(side.tree) if isinstance(node, ast.Call) and _is_setup(node, side)]
    asked = [keyword for call in calls for keyword in call.keywords if keyword.arg in _REQUIREMENTS]
    assigned = _assignments_for([keyword.value for keyword in asked], side.tree)
    taken = {str(keyword.arg): _value_of(keyword.value) for keyword in asked if keyword.arg not in assigned}
    taken.update({name: _value_of(node.value) for name, node in assigned.items()})
    for call in calls:
        call.keywords = [
            keyword for keyword in call.keywords if keyword.arg not in (*_METADATA, *_REQUIREMENTS)
        ]
    side.tree.body = [statement for statement in side.tree.body if statement not in assigned.values()]
    for node in ast.walk(side.tree):
        if isinstance(node, ast.Assign) and _assigns_metadata(node):
            node.value = ast.Constant("")
    return _Script(side._replace(units=definitions.units(side.tree, b"")), taken)


def _assignments_for(values: list[ast.expr], tree: ast.Module) -> dict[str, ast.Assign]:
    """The module's single assignments of the names that the values read, also through other such names.

    A name that is assigned more than once is left to the comparison of the script's syntax.
    """
    by_name: dict[str, list[ast.Assign]] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            by_name.setdefault(statement.targets[0].id, []).append(statement)
    found: dict[str, ast.Assign] = {}
    pending = list(values)
    while pending:
        names = [node.id for node in ast.walk(pending.pop()) if isinstance(node, ast.Name)]
        for name in names:
            statements = by_name.get(name, [])
            if len(statements) == 1 and len(statements[0].targets) == 1 and name not in found:
                found[name] = statements[0]
                pending.append(statements[0].value)
    return found


def _value_of(node: ast.expr) -> Any:
    """The value that is written out, a table by its keys; source text where it is computed."""
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(key.value): _value_of(value) for key, value in pairs if isinstance(key, ast.Constant)}
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return ast.unparse(node)


def _is_setup(node: ast.AST, side: Side) -> bool:
    name = dotted_name(node.func) if isinstance(node, ast.Call) else None
    if not name or name[-1] != "setup":
        return False
    return any(imported and dotted[0] in _SETUP_MODULES for dotted, imported in side.names.meanings(name))


def _assigns_metadata(node: ast.Assign) -> bool:
    names = [name.strip("_").lower() for name in definitions.assigned_names(node)]
    return isinstance(node.value, ast.Constant) and names in (["version"], ["python_requires"])


def _same_syntax(old: Side, new: Side) -> bool:
    return definitions.fingerprint(old.tree) == definitions.fingerprint(new.tree)
