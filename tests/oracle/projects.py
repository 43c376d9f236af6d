"""Real projects of the package index to judge by: backends, layouts, and what each is here for."""

from __future__ import annotations

from typing import NamedTuple

from tests.oracle import maturin_project
from tests.oracle.judging import Project, State


class Subject(NamedTuple):
    """A project with consecutive releases; each is pushed onto the wheel of the one before it.

    ``states``: of a project that is written here and not downloaded; then ``releases`` are their labels.
    """

    project: Project
    releases: tuple[str, ...]
    backend: str
    shows: str
    states: tuple[State, ...] = ()


def _subject(
    name: str,
    releases: str,
    backend: str,
    shows: str,
    *,
    untracked: tuple[str, ...] = (),
    configuration: str = "",
) -> Subject:
    return Subject(Project(name, untracked, configuration), tuple(releases.split()), backend, shows)


def _written_here(name: str, states: tuple[State, ...], backend: str, shows: str) -> Subject:
    return Subject(Project(name), tuple(state.label for state in states), backend, shows, states)


SUBJECTS = (
    _subject("markdown", "3.5 3.5.1 3.5.2 3.6 3.7 3.8", "setuptools, flat", "tests beside the package"),
    _subject(
        "python-slugify", "6.1.0 6.1.1 6.1.2 7.0.0 8.0.0 8.0.1", "setuptools, flat, setup.py", "typing marker"
    ),
    _subject("cachetools", "5.3.0 5.3.1 5.3.2 5.3.3 5.4.0 5.5.0", "setuptools, src", "tests beside src"),
    _subject(
        "humanize", "4.6.0 4.7.0 4.8.0 4.9.0 4.10.0 4.11.0 4.12.0", "hatchling, src", "translations as data"
    ),
    _subject(
        "jsonschema-specifications",
        "2023.6.1 2023.7.1 2023.11.1 2023.11.2 2023.12.1 2024.10.1",
        "hatchling, flat",
        "mostly data",
    ),
    _subject(
        "wtforms",
        "3.0.1 3.1.0 3.1.1 3.1.2 3.2.1",
        "setuptools to hatchling, src",
        "package data, translations",
        untracked=("*.mo",),
    ),
    _subject("packaging", "23.0 23.1 23.2 24.0 24.1 24.2 25.0", "flit, src", "new subpackage"),
    _subject(
        "sphinxcontrib-htmlhelp",
        "2.0.1 2.0.2 2.0.3 2.0.4 2.0.5 2.0.6 2.1.0",
        "setuptools to flit",
        "namespace package, data",
    ),
    _subject(
        "tomlkit",
        "0.11.6 0.11.7 0.11.8 0.12.0 0.12.1 0.12.2 0.12.3",
        "poetry-core",
        "typing marker",
        untracked=("/setup.py",),
    ),
    _subject(
        "meson-python", "0.13.1 0.13.2 0.14.0 0.15.0 0.16.0 0.17.0", "meson-python", "files listed one by one"
    ),
    _subject("nanobind", "2.2.0 2.4.0 2.5.0 2.6.1 2.7.0", "scikit-build-core", "headers and sources as data"),
    _subject(
        "markupsafe", "2.1.0 2.1.1 2.1.2 2.1.3 2.1.4 2.1.5 3.0.0", "setuptools, src", "compiled, with stub"
    ),
    _subject("multidict", "6.0.2 6.0.3 6.0.4 6.0.5 6.1.0", "setuptools, flat", "compiled, C beside Python"),
    _subject(
        "charset-normalizer", "3.0.1 3.1.0 3.2.0 3.3.0 3.3.1 3.3.2", "setuptools", "optional compiled twin"
    ),
    _subject(
        "zope.interface", "5.5.1 5.5.2 6.0 6.1 6.2", "setuptools, src", "namespace, compiled, tests shipped"
    ),
    _subject(
        "jaraco.functools",
        "3.7.0 3.8.0 3.8.1 3.9.0 4.0.0 4.0.1 4.0.2",
        "setuptools",
        "namespace, module to package",
    ),
    _subject(
        "google-api-core",
        "2.8.2 2.10.0 2.11.0 2.12.0 2.14.0 2.15.0",
        "setuptools",
        "namespace, ships less than it holds",
    ),
    _subject("frozenlist", "1.4.0 1.4.1 1.5.0 1.6.0", "setuptools, in-tree", "Cython"),
    _subject("findpython", "0.4.0 0.4.1 0.5.0 0.5.1 0.6.0", "pdm-backend, src", "subpackages"),
    _written_here("mixed-layout", maturin_project.states(), "maturin, mixed", "Rust, written for this test"),
)
"""Released before this project began, so that every one of them builds the same from now on."""
