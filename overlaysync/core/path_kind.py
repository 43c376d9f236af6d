"""What a path is by its name alone, before anybody looks at its content."""

from __future__ import annotations

import enum
import re
from collections.abc import Collection

from overlaysync.core import buildfiles, requirements
from overlaysync.core.vocabulary import words

NATIVE_SUFFIXES = words(
    ".c .cc .cpp .cxx .c++ .cu .cuh .hip .h .hh .hpp .hxx .inl .inc .ipp .tpp .m .mm .metal .s .asm .ptx .rs",
    ".f .for .f77 .f90 .f95 .f03 .f08 .go .zig .cl .td .mlir",
)
JIT_SUFFIXES = words(".cu .cuh .hip .h .hh .hpp .hxx .inl .inc .ipp .tpp .metal .ptx .cl")
"""Native sources that packages carry along to compile them at run time: headers and device code."""

TEMPLATE_SUFFIXES = (".j2", ".jinja", ".jinja2", ".mako", ".tmpl")

GENERATED_SUFFIXES = frozenset({".py", ".pyi", ".pyx", ".toml", ".cfg", ".proto"}) | NATIVE_SUFFIXES
_ARTEFACT = re.compile(r".+\.(so(\.\d+)*|pyd|dll|dylib|a|o|lib|cubin|fatbin)", re.IGNORECASE)
_PROTOBUF = re.compile(r".+_pb2(_grpc)?\.pyi?")
_STARTUP_HOOK = re.compile(r".+\.pth|(site|user)customize\.py")
_STARTUP_PACKAGE = re.compile(r"(.*/)?(site|user)customize/.+\.py")
_OUTSIDE = re.compile(
    r"(Docker|Container)file.*|.+\.[Dd]ockerfile|\.dockerignore|\.gitattributes|\.gitignore"
    r"|conda_build_config\.yaml|meta\.yaml|recipe\.yaml"
)
"""Not read by a wheel's build: image and conda recipes, git's own files."""
_LOCK = re.compile(r"(uv|poetry|pdm)\.lock|Pipfile\.lock|pylock(\.[^.]+)?\.toml")
_CONDA_ENVIRONMENT = re.compile(r"environment([-_.]\w+)*\.ya?ml")


class PathKind(enum.Enum):
    """What the name of a path says it is."""

    PYTHON = enum.auto()
    NATIVE = enum.auto()
    ARTEFACT = enum.auto()  # compiled code, committed
    CYTHON = enum.auto()
    BUILD = enum.auto()
    REQUIREMENTS = enum.auto()
    GENERATOR_INPUT = enum.auto()
    TEMPLATE = enum.auto()  # input of a generator, or data of a package: its neighbours decide
    PROTOBUF = enum.auto()  # written by protoc
    STARTUP_HOOK = enum.auto()
    SUBMODULES = enum.auto()  # .gitmodules
    LOCK = enum.auto()  # of a project manager; read by no wheel's build
    OUTSIDE = enum.auto()
    DATA = enum.auto()


_BY_NAME = (
    (re.compile(r"\.gitmodules"), PathKind.SUBMODULES),
    (_OUTSIDE, PathKind.OUTSIDE),
    (_LOCK, PathKind.LOCK),
    (_PROTOBUF, PathKind.PROTOBUF),
    (_ARTEFACT, PathKind.ARTEFACT),
)
_BY_SUFFIX: tuple[tuple[Collection[str], PathKind], ...] = (
    ((".py",), PathKind.PYTHON),
    ((".pyx", ".pxd", ".pxi"), PathKind.CYTHON),
    (NATIVE_SUFFIXES, PathKind.NATIVE),
    (TEMPLATE_SUFFIXES, PathKind.TEMPLATE),
    ((".proto", ".thrift", ".fbs", ".capnp", ".g4", ".y", ".yy", ".l", ".ll"), PathKind.GENERATOR_INPUT),
)


def path_kind(path: str) -> PathKind:
    """The kind of a repository path. The first that applies of: fixed names, build files, suffixes."""
    name = path.rpartition("/")[2]
    if is_startup_hook(path):
        return PathKind.STARTUP_HOOK
    fixed = next((kind for pattern, kind in _BY_NAME if pattern.fullmatch(name)), None)
    if fixed:
        return fixed
    if buildfiles.judge_for(path):
        return PathKind.BUILD
    if _is_requirements_file(path):
        return PathKind.OUTSIDE if requirements.for_development_only(name) else PathKind.REQUIREMENTS
    return _kind_by_suffix(name)


def is_startup_hook(path: str) -> bool:
    """Whether Python runs a file at its start, of whatever it is asked to run."""
    if not path.endswith(".pth") and "customize" not in path:
        return False  # of almost all paths, and at once
    return bool(_STARTUP_HOOK.fullmatch(path.rpartition("/")[2]) or _STARTUP_PACKAGE.fullmatch(path))


def without_suffix(path: str, suffixes: tuple[str, ...]) -> str | None:
    """The path without the one of the suffixes that it has; None if it has none of them."""
    return next((path[: -len(suffix)] for suffix in suffixes if path.lower().endswith(suffix)), None)


def suffix_of(name: str) -> str:
    """The last suffix of a file name, lower-case, with its dot; empty if there is none."""
    stem, dot, last = name.rpartition("/")[2].rpartition(".")
    return f".{last.lower()}" if dot and stem else ""


def _kind_by_suffix(name: str) -> PathKind:
    suffix = suffix_of(name)
    for suffixes, kind in _BY_SUFFIX:
        if suffix in suffixes:
            return kind
    inner = without_suffix(name, (".in",))
    return PathKind.GENERATOR_INPUT if inner and suffix_of(inner) in GENERATED_SUFFIXES else PathKind.DATA


def _is_requirements_file(path: str) -> bool:
    """``requirements-x.txt``, ``x-requirements.in``, ``constraints.txt``, ``requirements/*.txt``, conda's."""
    directory, _, name = path.lower().rpartition("/")
    if not directory and _CONDA_ENVIRONMENT.fullmatch(name):
        return True
    stem = without_suffix(name, (".txt", ".in"))
    if stem is None:
        return False
    words = re.split(r"[-_.]", stem)
    named = {"requirements", "requirement", "constraints", "reqs"}
    return words[0] in named or words[-1] in named or directory.rpartition("/")[2] == "requirements"
