"""What only the whole set of changes and the tracked files around a change show about its class."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import msgspec

from overlaysync.core.finding import Finding, as_problem
from overlaysync.core.path_kind import (
    GENERATED_SUFFIXES,
    JIT_SUFFIXES,
    NATIVE_SUFFIXES,
    TEMPLATE_SUFFIXES,
    PathKind,
    path_kind,
    suffix_of,
    without_suffix,
)
from overlaysync.model.classified import ChangeClass, ClassifiedChange
from overlaysync.model.worktree import ChangeKind, RepoPath

_MADE_BY_BUILDS = GENERATED_SUFFIXES | {""}
_PROTOBUF_SUFFIX = re.compile(r"_pb2(_grpc)?\.pyi?$")


def classify_set(
    classified: Sequence[ClassifiedChange], tracked: Collection[RepoPath]
) -> tuple[ClassifiedChange, ...]:
    """The changes, each with the class that its neighbours give it.

    Args:
        classified: all changes of the worktree, each judged by itself.
        tracked: the paths of HEAD's tree.
    """
    around = _Neighbourhood(classified, tracked)
    return tuple(_judge(each, around) for each in classified)


class _Neighbourhood:
    """The paths around the changes: those that are tracked, and those that change."""

    def __init__(self, classified: Sequence[ClassifiedChange], tracked: Collection[RepoPath]) -> None:
        self.changed = frozenset(each.change.path for each in classified)
        added = (each.change.path for each in classified if each.change.kind is ChangeKind.ADDED)
        self.paths: frozenset[str] = frozenset(tracked) | frozenset(added)
        stems = (without_suffix(path, (".proto",)) for path in self.changed)
        # protoc turns what no module name may hold into underscores.
        self.changed_protobuf = {re.sub(r"[-.]", "_", stem.rpartition("/")[2]) for stem in stems if stem}

    def in_package(self, path: str) -> bool:
        """Whether a directory above the path, below the root, is a Python package."""
        directory = path.rpartition("/")[0]
        while directory:
            if f"{directory}/__init__.py" in self.paths:
                return True
            directory = directory.rpartition("/")[0]
        return False

    def template_of(self, path: str) -> str | None:
        """The template beside a file from which it is made, if there is one."""
        candidates = (path + suffix for suffix in (".in", *TEMPLATE_SUFFIXES))
        return next((candidate for candidate in candidates if candidate in self.paths), None)


def _judge(each: ClassifiedChange, around: _Neighbourhood) -> ClassifiedChange:
    path, kind = each.change.path, each.change.kind
    match each.change_class:
        case ChangeClass.NATIVE if suffix_of(path) in JIT_SUFFIXES and around.in_package(path):
            message = f"header or device source {kind.value} inside a package: a JIT build input"
            return _replaced(each, ChangeClass.JIT, Finding("jit-input", message))
        case ChangeClass.GENERATED if _PROTOBUF_SUFFIX.search(path):
            return _judge_protobuf(each, around)
        case ChangeClass.DATA:
            return _judge_template(each, around)
        case ChangeClass.PYTHON | ChangeClass.BINDING | ChangeClass.JIT if path.endswith(".py"):
            return _judge_made_from_template(each, around)
    return each


def _judge_protobuf(each: ClassifiedChange, around: _Neighbourhood) -> ClassifiedChange:
    """Source and module may lie in different trees, so they are paired by name."""
    module = _PROTOBUF_SUFFIX.sub("", each.change.path.rpartition("/")[2])
    if module not in around.changed_protobuf:
        return each
    rest = tuple(problem for problem in each.problems if problem.code != "generated-change")
    return msgspec.structs.replace(each, problems=rest, note="its .proto changes too, and is refused")


def _judge_template(each: ClassifiedChange, around: _Neighbourhood) -> ClassifiedChange:
    """A template in a package is data for run time (a chat template), unless what it makes is known."""
    made = without_suffix(each.change.path, TEMPLATE_SUFFIXES)
    if made is None:
        return each
    what = f"template {each.change.kind.value}"
    suffix = suffix_of(made)
    if made in around.paths:
        return _replaced(
            each, ChangeClass.GENERATED, Finding("generator-input", f"{what}; {made} is made from it")
        )
    if not around.in_package(made) and path_kind(made) is not PathKind.OUTSIDE and suffix in _MADE_BY_BUILDS:
        return _replaced(
            each, ChangeClass.GENERATED, Finding("generator-input", f"{what} outside of packages")
        )
    if around.in_package(made) and suffix in NATIVE_SUFFIXES:
        return _replaced(
            each, ChangeClass.JIT, Finding("jit-input", f"{what}; source for run time is made from it")
        )
    return each


def _judge_made_from_template(each: ClassifiedChange, around: _Neighbourhood) -> ClassifiedChange:
    template = around.template_of(each.change.path)
    if template is None:
        return each
    if template in around.changed:
        return msgspec.structs.replace(each, change_class=ChangeClass.GENERATED, problems=())
    return _replaced(each, ChangeClass.GENERATED, Finding("generated-change", f"edited without {template}"))


def _replaced(each: ClassifiedChange, change_class: ChangeClass, finding: Finding) -> ClassifiedChange:
    """The change with another class, and one reason in place of those it had."""
    problems = (as_problem(finding, each.change),)
    return msgspec.structs.replace(each, change_class=change_class, problems=problems)
