"""Changes to classes: what each changed path of the worktree is, judged by what changed in it.

Whether a path is packaged at all is not asked here: the mapping knows it, and drops the problems of
what does not ship. Docker and conda recipes and lock files are ``outside``: a wheel's build reads none.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from overlaysync.core import buildfiles, python_source, requirements, setuptools_files
from overlaysync.core.finding import Finding, Judgement, as_problem, printable
from overlaysync.core.neighbours import classify_set
from overlaysync.core.path_kind import PathKind, path_kind
from overlaysync.core.patterns import Patterns
from overlaysync.model.classified import ChangeClass, ClassifiedChange
from overlaysync.model.worktree import (
    MODE_LINK,
    MODE_SUBMODULE,
    Change,
    ChangeKind,
    RepoPath,
)

__all__ = ["DEFAULT_NOT_BUILT", "classify", "classify_set", "needs_beginning", "needs_content"]

DEFAULT_NOT_BUILT = (
    "/docs/",
    "/doc/",
    "/tests/",
    "/test/",
    "/examples/",
    "/example/",
    "/benchmarks/",
    "/.github/",
    "/.gitlab/",
    "/.circleci/",
    "/.buildkite/",
    "/Makefile",
)
"""Gitignore patterns of what builds do not read. They are anchored: ``pkg/tests/`` is a package's own, and
``csrc/Makefile`` may compile, where that of the root holds a developer's commands."""

_CLASSES = {
    PathKind.PYTHON: ChangeClass.PYTHON,
    PathKind.NATIVE: ChangeClass.NATIVE,
    PathKind.ARTEFACT: ChangeClass.NATIVE,
    PathKind.CYTHON: ChangeClass.NATIVE,
    PathKind.BUILD: ChangeClass.BUILD,
    PathKind.REQUIREMENTS: ChangeClass.BUILD,
    PathKind.GENERATOR_INPUT: ChangeClass.GENERATED,
    PathKind.TEMPLATE: ChangeClass.DATA,
    PathKind.PROTOBUF: ChangeClass.GENERATED,
    PathKind.STARTUP_HOOK: ChangeClass.OUTSIDE,
    PathKind.SUBMODULES: ChangeClass.SUBMODULE,
    PathKind.LOCK: ChangeClass.OUTSIDE,
    PathKind.OUTSIDE: ChangeClass.OUTSIDE,
    PathKind.DATA: ChangeClass.DATA,
}

_COMPILED = (b"\x7fELF", b"!<arch>\n", b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xca\xfe\xba\xbe")
"""How executables, libraries and archives of objects begin, whatever they are called (ELF, ar, Mach-O)."""

_ALWAYS = {
    PathKind.NATIVE: ("native-change", "native source {}; what is made of it comes from a build"),
    PathKind.ARTEFACT: ("native-change", "compiled file {}; it comes from a build and not from an overlay"),
    # Native by class; the code says more: from the input follow generated C and a compiled module.
    PathKind.CYTHON: ("generator-input", "source for Cython {}; what is made of it comes from a build"),
    PathKind.GENERATOR_INPUT: ("generator-input", "generator input {}; what is made from it is still HEAD's"),
    PathKind.PROTOBUF: ("generated-change", "protobuf module {} without its .proto"),
    PathKind.STARTUP_HOOK: ("startup-hook", "start-up hook {}; it runs at every start of the interpreter"),
    PathKind.SUBMODULES: ("submodule-change", "submodule list {}"),
}
"""Kinds that are refused whatever changed in them, with the sentence that says so."""


def needs_content(path: RepoPath) -> bool:
    """Whether ``classify`` looks at the bytes of both sides: Python, build, requirement and lock files."""
    return path_kind(path) in (PathKind.PYTHON, PathKind.BUILD, PathKind.REQUIREMENTS, PathKind.LOCK)


def needs_beginning(path: RepoPath) -> bool:
    """Whether ``classify`` looks at how the worktree's content begins: what may be data, or compiled code."""
    return path_kind(path) is PathKind.DATA


def classify(
    change: Change, before: bytes | None, after: bytes | None, *, not_built: Sequence[str] = DEFAULT_NOT_BUILT
) -> ClassifiedChange:
    """Judge one change by itself; ``classify_set`` adds what only its neighbours show.

    Args:
        before: HEAD's content where ``needs_content``, None where HEAD has none.
        after: the worktree's content where ``needs_content``, or how it begins where ``needs_beginning``.
        not_built: gitignore patterns of paths that the build does not read.
    """
    kind = _kind(change.path, before, after)
    other_type = _other_type(change)
    overlayable = kind in (PathKind.PYTHON, PathKind.DATA) and not other_type
    if not overlayable and _patterns(tuple(not_built)).match(change.path):
        return ClassifiedChange(change, ChangeClass.OUTSIDE, note="no build reads it")
    if other_type:
        change_class, finding = other_type
        return ClassifiedChange(change, change_class, (as_problem(finding, change),))
    return _judged(change, kind, _judgement(change, kind, before, after))


def _kind(path: RepoPath, before: bytes | None, after: bytes | None) -> PathKind:
    """The kind by name, but for compiled code of any name, and a ``setup.py`` that is a package's module."""
    if path.endswith("/setup.py") and not any(map(setuptools_files.calls_setup, (before, after))):
        return PathKind.PYTHON
    kind = path_kind(path)
    compiled = kind is PathKind.DATA and after is not None and after.startswith(_COMPILED)
    return PathKind.ARTEFACT if compiled else kind


@functools.lru_cache(maxsize=8)
def _patterns(lines: tuple[str, ...]) -> Patterns:
    return Patterns(lines)


def _other_type(change: Change) -> tuple[ChangeClass, Finding] | None:
    """Class and finding of a change that is no difference of two regular files."""
    head = change.head.mode if change.head else None
    note = change.note or ""
    no_file_added = change.kind is ChangeKind.ADDED and change.content is None
    if head == MODE_SUBMODULE or (no_file_added and note.startswith("is a submodule")):
        message = f"submodule {change.kind.value}: {note or 'HEAD has a gitlink here'}"
        return ChangeClass.SUBMODULE, Finding("submodule-change", printable(message))
    if head == MODE_LINK or change.kind is ChangeKind.RETYPED or no_file_added:
        message = f"{note or f'symbolic link {change.kind.value}'}; wheels hold regular files only"
        return ChangeClass.LINK, Finding("link-change", printable(message))
    return None


def _judgement(change: Change, kind: PathKind, before: bytes | None, after: bytes | None) -> Judgement:
    if kind in _ALWAYS:
        code, sentence = _ALWAYS[kind]
        return Judgement((Finding(code, sentence.format(change.kind.value)),))
    if kind is PathKind.PYTHON:
        return python_source.judge_python(before, after)
    if kind is PathKind.LOCK:
        return requirements.judge_lock(before, after)
    if kind is PathKind.REQUIREMENTS:
        return requirements.judge_requirements_file(before, after)
    build_judge = buildfiles.judge_for(change.path)
    return build_judge(before, after) if build_judge else Judgement()


def _judged(change: Change, kind: PathKind, judgement: Judgement) -> ClassifiedChange:
    findings = judgement.findings + _name_findings(change.path)
    codes = {finding.code for finding in findings}
    change_class = _CLASSES[kind]
    if "binding-change" in codes:
        change_class = ChangeClass.BINDING
    elif "jit-change" in codes:
        change_class = ChangeClass.JIT
    problems = tuple(as_problem(finding, change) for finding in findings)
    return ClassifiedChange(change, change_class, problems, judgement.note)


def _name_findings(path: RepoPath) -> tuple[Finding, ...]:
    """Wheels hold names in UTF-8, one line of RECORD each (PyPA: binary distribution format)."""
    if any(character < " " or character == "\x7f" for character in path):
        return (Finding("unsafe-name", "the name holds a control character, which no wheel can carry"),)
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        if path.endswith(".py"):
            return (Finding("unsafe-name", "the name is not UTF-8, as the names in a wheel are"),)
    return ()
