"""``pyproject.toml`` and ``Cargo.toml``: which of their tables a build reads."""

from __future__ import annotations

from typing import Any

import tomli

from overlaysync.core import requirements, tables
from overlaysync.core.finding import Finding, Judgement, printable
from overlaysync.core.names import canonical
from overlaysync.core.tables import Difference, Effect, Rules
from overlaysync.core.vocabulary import words

PROJECT_METADATA = (
    "version",
    "requires-python",
    "description",
    "readme",
    "authors",
    "maintainers",
    "classifiers",
    "urls",
    "keywords",
    "license",
    "license-files",
)
"""Keys of ``[project]`` that change what installers show and nothing that runs (PyPA: core metadata)."""

_BUILD_TOOLS = words(
    "setuptools setuptools_scm setuptools-scm setuptools-git-versioning setuptools-rust distutils flit",
    "maturin meson-python scikit-build cython mypyc cffi versioneer versioningit poetry-dynamic-versioning",
    "py-build-cmake sip pbr whey trampolim",
)

_PACKAGING_TOOLS = words(
    "setuptools wheel setuptools-scm hatchling hatch-vcs hatch-fancy-pypi-readme flit-core poetry-core",
    "pdm-backend uv-build",
)
"""Build requirements that place files and write metadata, and have no part in compiled code."""

PYPROJECT_RULES: Rules = {
    ("project", "dependencies"): Effect.REQUIREMENT,
    ("project", "optional-dependencies"): Effect.REQUIREMENT,
    **{("project", key): Effect.METADATA for key in PROJECT_METADATA},
    ("dependency-groups",): Effect.NOTHING,
    ("tool",): Effect.NOTHING,
    **{("tool", tool): Effect.BUILD for tool in _BUILD_TOOLS},
    **{("tool", "setuptools", "dynamic", key): Effect.METADATA for key in PROJECT_METADATA},
    **{("tool", tool): Effect.NOTHING for tool in ("hatch", "pdm", "uv")},
    **{("tool", "hatch", key): Effect.BUILD for key in ("build", "version", "metadata")},
    **{("tool", "pdm", key): Effect.BUILD for key in ("build", "version")},
    **{
        ("tool", *table): Effect.NOTHING
        for table in (("flit", "sdist"), ("hatch", "build", "targets", "sdist"))
    },
    ("tool", "poetry"): Effect.BUILD,
    **{
        ("tool", "poetry", key): Effect.METADATA
        for key in (*PROJECT_METADATA, "homepage", "documentation", "repository")
    },
    **{("tool", "poetry", key): Effect.REQUIREMENT for key in ("dependencies", "extras")},
    ("tool", "poetry", "dependencies", "python"): Effect.METADATA,
    **{
        ("tool", "poetry", key): Effect.NOTHING
        for key in ("group", "dev-dependencies", "source", "requires-poetry")
    },
    **{
        ("tool", "uv", key): Effect.BUILD
        for key in ("build-backend", "config-settings", "extra-build-dependencies")
    },
    **{
        ("tool", "uv", key): Effect.REQUIREMENT
        for key in (
            "sources",
            "index",
            "override-dependencies",
            "constraint-dependencies",
            "build-constraint-dependencies",
        )
    },
}
"""What is not listed is ``[build-system]``, another key of ``[project]`` or no valid table: build."""

CARGO_RULES: Rules = {
    ("dev-dependencies",): Effect.NOTHING,
    ("bench",): Effect.NOTHING,
    ("test",): Effect.NOTHING,
    ("example",): Effect.NOTHING,
    ("lints",): Effect.NOTHING,
    ("profile", "dev"): Effect.NOTHING,
    ("profile", "test"): Effect.NOTHING,
    ("profile", "bench"): Effect.NOTHING,
    **{
        ("package", key): Effect.METADATA
        for key in (
            *PROJECT_METADATA,
            "homepage",
            "documentation",
            "repository",
            "categories",
            "license-file",
        )
    },
}


def judge_pyproject(before: bytes | None, after: bytes | None) -> Judgement:
    """Compare two sides of a ``pyproject.toml``; a missing side is an empty one."""
    try:
        old, new = _load(before), _load(after)
        required = _build_requirements(old) | _build_requirements(new)
        found = [(each, _pyproject_effect(each, required)) for each in tables.differences(old, new)]
    except (tomli.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        return _unparsable(error)
    return tables.judge(found)


def judge_pipfile(before: bytes | None, after: bytes | None) -> Judgement:
    """Compare two sides of pipenv's ``Pipfile``; a missing side is an empty one."""
    try:
        found = list(tables.differences(_load(before), _load(after)))
    except (tomli.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        return _unparsable(error)
    rules: Rules = {("packages",): Effect.REQUIREMENT}
    return tables.judge([(each, tables.effect(each.path, rules, Effect.NOTHING)) for each in found])


def judge_cargo(before: bytes | None, after: bytes | None) -> Judgement:
    """Compare two sides of a ``Cargo.toml`` or ``Cargo.lock``; a missing side is an empty one."""
    try:
        found = list(tables.differences(_load(before), _load(after)))
    except (tomli.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        return _unparsable(error)
    return tables.judge([(each, tables.effect(each.path, CARGO_RULES, Effect.BUILD)) for each in found])


def _load(content: bytes | None) -> dict[str, Any]:
    # Git may check the file out with CRLF, which is a newline in TOML as well.
    return tomli.loads((content or b"").decode("utf-8"))


def _unparsable(error: Exception) -> Judgement:
    reason = f"cannot be parsed as TOML, so nothing says what differs: {error}"
    return Judgement((Finding("build-change", printable(reason)),))


def _pyproject_effect(difference: Difference, build_requirements: set[str]) -> Effect:
    match difference.path:
        case ("project", "optional-dependencies", extra, *_) if requirements.for_development_only(extra):
            return Effect.NOTHING
        case ("project", "dynamic") if _strings(difference.before) ^ _strings(difference.after) <= set(
            PROJECT_METADATA
        ):
            return Effect.METADATA
        case ("build-system", "requires") if _asks_for_newer(difference.before, difference.after):
            return Effect.NOTHING
        case ("tool", tool, *_) if ("tool", tool) not in PYPROJECT_RULES:
            # A plugin of the build reads the table of its own name.
            return Effect.BUILD if canonical(tool) in build_requirements else Effect.NOTHING
    return tables.effect(difference.path, PYPROJECT_RULES, Effect.BUILD)


def _asks_for_newer(before: Any, after: Any) -> bool:
    """Whether only lower bounds of packaging tools differ: a build takes the newest in either case."""
    old, new = _without_lower_bounds(before), _without_lower_bounds(after)
    return old is not None and old == new


def _without_lower_bounds(value: Any) -> set[str] | None:
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.specifiers import SpecifierSet

    found = set()
    for text in _strings(value):
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            return None
        if canonical(requirement.name) in _PACKAGING_TOOLS:
            kept = [str(bound) for bound in requirement.specifier if bound.operator != ">="]
            requirement.specifier = SpecifierSet(",".join(kept))
        if requirement.name != "wheel":  # setuptools brings what it needs of it
            found.add(str(requirement))
    return found


def _build_requirements(pyproject: dict[str, Any]) -> set[str]:
    """Canonical names of the distributions that ``build-system.requires`` asks for."""
    from packaging.requirements import InvalidRequirement, Requirement

    table = pyproject.get("build-system")
    names: set[str] = set()
    for text in _strings(table.get("requires") if isinstance(table, dict) else None):
        try:
            names.add(canonical(Requirement(text).name))
        except InvalidRequirement:
            continue
    return names


def _strings(value: Any) -> set[str]:
    return {item for item in value if isinstance(item, str)} if isinstance(value, list) else set()
