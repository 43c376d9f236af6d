"""Build files judged by what changed: values that no build reads change nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

from overlaysync.core import comments, definitions, python_source
from overlaysync.core.finding import Finding, Judgement, listed, printable
from overlaysync.core.pyproject import judge_cargo, judge_pipfile, judge_pyproject
from overlaysync.core.python_source import FORMATTING_ONLY, PARSER_FAILURES
from overlaysync.core.setuptools_files import judge_setup_cfg, judge_setup_script
from overlaysync.core.vocabulary import words

Judge = Callable[[bytes | None, bytes | None], Judgement]
Tokens = Callable[[str], list[str]]


def judge_for(path: str) -> Judge | None:
    """The judge of a build file's two sides, by its path; None if no build reads a file of that name."""
    directory, _, name = path.rpartition("/")
    if not directory and name in _ROOT_SCRIPTS:
        return _judge_syntax
    return next((judge for pattern, judge in _JUDGES if pattern.fullmatch(name)), None)


def _judge_syntax(before: bytes | None, after: bytes | None) -> Judgement:
    """Compare Python, or the Starlark of Bazel, whose grammar is a part of Python's."""
    try:
        old, new = python_source.parse(before), python_source.parse(after)
    except PARSER_FAILURES:
        return _judge_text(str.splitlines)(before, after)
    if definitions.fingerprint(old.tree) == definitions.fingerprint(new.tree):
        return Judgement(note=FORMATTING_ONLY)
    changed = definitions.changed_titles(old.units, new.units)
    return Judgement((Finding("build-change", f"the build uses {listed(changed)}"),))


def _judge_text(tokens: Tokens) -> Judge:
    """A judge that compares what is left of a text when its comments and blanks are dropped."""

    def judge(before: bytes | None, after: bytes | None) -> Judgement:
        old, new = _text(before), _text(after)
        if tokens(old) == tokens(new):
            return Judgement(note=FORMATTING_ONLY)
        if before is None or after is None:
            what = "added" if before is None else "removed"
            return Judgement((Finding("build-change", f"a file that the build reads was {what}"),))
        return Judgement((Finding("build-change", f"the build uses {_first_difference(old, new)}"),))

    return judge


def _judge_manifest(before: bytes | None, after: bytes | None) -> Judgement:
    judgement = _judge_text(comments.lines_without_comments)(before, after)
    if judgement.findings and comments.manifest_lines(_text(before)) == comments.manifest_lines(_text(after)):
        return Judgement(note="files at the root alone, which no package holds")
    return judgement


def _text(content: bytes | None) -> str:
    return (content or b"").decode("utf-8", "surrogateescape").replace("\r\n", "\n")


def _first_difference(old: str, new: str) -> str:
    """Number and text of the first line that differs."""
    before, after = old.splitlines(), new.splitlines()
    pairs = zip(before, after, strict=False)
    number = next(
        (at for at, (was, is_now) in enumerate(pairs) if was != is_now), min(len(before), len(after))
    )
    line = after[number] if number < len(after) else "end of the file"
    return f"line {number + 1} and perhaps more: {printable(line.strip())[:80]}"


_ROOT_SCRIPTS = words(
    "build.py build_backend.py _build_backend.py build_hooks.py _build_hooks.py",
    "build_utils.py build_helpers.py custom_build.py _custom_build.py hatch_build.py pdm_build.py",
    "versioneer.py conanfile.py",
)
"""Usual names of in-tree build backends, build hooks and what they import, at the root of a repository."""

_JUDGES: tuple[tuple[re.Pattern[str], Judge], ...] = tuple(
    (re.compile(pattern), judge)
    for pattern, judge in (
        (r"pyproject\.toml", judge_pyproject),
        (r"setup\.cfg", judge_setup_cfg),
        (r"setup\.py", judge_setup_script),
        (r"Pipfile", judge_pipfile),
        (r"Cargo\.(toml|lock)", judge_cargo),
        (r"CMakeLists\.txt|.+\.cmake(\.in)?", _judge_text(comments.cmake_tokens)),
        (r"meson\.build|meson\.options|meson_options\.txt", _judge_text(comments.meson_tokens)),
        (r"(GNU)?[Mm]akefile(\.am)?|.+\.mk", _judge_text(comments.lines_without_comments)),
        (r"MANIFEST\.in", _judge_manifest),
        (r"(WORKSPACE|BUILD)(\.bazel)?|MODULE\.bazel|.+\.bzl", _judge_syntax),
        (
            r"configure\.(ac|in)|build\.rs|rust-toolchain(\.toml)?|CMake(User)?Presets\.json|conanfile\.txt|vcpkg\.json",
            _judge_text(str.splitlines),
        ),
    )
)
