"""Classes that follow from the name or the type of a path."""

from __future__ import annotations

import pytest

from overlaysync.core.classify import classify, needs_content
from overlaysync.model.classified import ChangeClass
from overlaysync.model.worktree import (
    MODE_LINK,
    MODE_SUBMODULE,
    Change,
    ChangeKind,
    RepoPath,
)
from tests.core.changes import change, codes, content, entry, judged, said

BY_NAME = [
    ("csrc/kernel.cu", "native", ["native-change"]),
    ("csrc/ops.cpp", "native", ["native-change"]),
    ("src/lib.rs", "native", ["native-change"]),
    ("solver/least_squares.f90", "native", ["native-change"]),
    ("csrc/start.S", "native", ["native-change"]),
    ("pkg/_C.abi3.so", "native", ["native-change"]),
    ("pkg/libx.so.1.2", "native", ["native-change"]),
    ("pkg/fast.pyx", "native", ["generator-input"]),
    ("pkg/fast.pxd", "native", ["generator-input"]),
    ("protos/service.proto", "generated", ["generator-input"]),
    ("pkg/config.py.in", "generated", ["generator-input"]),
    ("pkg/ops.pyi.in", "generated", ["generator-input"]),
    ("csrc/version.h.in", "generated", ["generator-input"]),
    ("pkg/grammar.g4", "generated", ["generator-input"]),
    ("pkg/service_pb2.py", "generated", ["generated-change"]),
    ("pkg/service_pb2.pyi", "generated", ["generated-change"]),
    ("pkg/service_pb2_grpc.py", "generated", ["generated-change"]),
    ("hook.pth", "outside", ["startup-hook"]),
    ("src/sitecustomize.py", "outside", ["startup-hook"]),
    ("usercustomize.py", "outside", ["startup-hook"]),
    (".gitmodules", "submodule", ["submodule-change"]),
    ("README.md", "data", []),
    ("LICENSE", "data", []),
    ("pkg/configs/model.json", "data", []),
    ("pkg/ops.pyi", "data", []),
    ("pkg/grammar.lark", "data", []),
    ("pkg/chat_template.jinja", "data", []),
    ("pkg/inputs.in", "data", []),
    ("docker/Dockerfile.cuda", "outside", []),
    ("conda/meta.yaml", "outside", []),
    ("uv.lock", "outside", []),
    ("requirements-dev.txt", "outside", []),
    ("requirements/nightly_torch_test.txt", "outside", []),
]


@pytest.mark.parametrize(("path", "change_class", "expected"), BY_NAME)
def test_a_name_decides(path: str, change_class: str, expected: list[str]) -> None:
    classified = judged(path)
    assert (classified.change_class.value, codes(classified)) == (change_class, expected)


@pytest.mark.parametrize("kind", [ChangeKind.ADDED, ChangeKind.MODIFIED, ChangeKind.REMOVED])
def test_native_sources_are_refused_whatever_happened_to_them(kind: ChangeKind) -> None:
    classified = classify(change("csrc/kernel.cu", kind), None, None)
    assert codes(classified) == ["native-change"]
    assert said(classified) == f"native source {kind.value}; what is made of it comes from a build"


@pytest.mark.parametrize("path", ["csrc/kernel.cu", "pkg/fast.pyx", "pkg/_C.abi3.so"])
def test_no_extension_is_claimed_that_the_image_may_not_have(path: str) -> None:
    """What is compiled of a source, a name does not tell."""
    assert "image" not in said(judged(path))


NOT_BUILT = [
    "docs/requirements.txt",
    "Makefile",
    "docs/Makefile",
    "tests/native/kernel.cu",
    "examples/serving/pyproject.toml",
    "benchmarks/bench.cpp",
    ".github/scripts/build.py.in",
    "test/service_pb2.py",
    "tests/hook.pth",
]


@pytest.mark.parametrize("path", NOT_BUILT)
def test_what_no_build_reads_is_outside(path: str) -> None:
    classified = judged(path)
    assert (classified.change_class, codes(classified)) == (ChangeClass.OUTSIDE, [])


@pytest.mark.parametrize(
    "path", ["pkg/tests/kernel.cu", "docs_src/kernel.cu", "pkg/docs/kernel.cu", "kernel.cu"]
)
def test_only_top_level_directories_are_left_unbuilt(path: str) -> None:
    assert codes(judged(path)) == ["native-change"]


def test_python_that_no_build_reads_is_still_python() -> None:
    assert judged("tests/test_x.py", "a = 1\n", "a = 2\n").change_class is ChangeClass.PYTHON


def test_the_unbuilt_directories_are_the_users_to_name() -> None:
    kernel, other = change("third_party/kernel.cu"), change("tests/kernel.cu")
    assert codes(classify(kernel, None, None)) == ["native-change"]
    assert codes(classify(kernel, None, None, not_built=["third_party/"])) == []
    assert codes(classify(other, None, None, not_built=[])) == ["native-change"]


LINK = Change(RepoPath("pkg/link.py"), ChangeKind.ADDED, note="is a symbolic link to 'a.py'")
OTHER_TYPES = [
    (LINK, "link", "is a symbolic link to 'a.py'"),
    (
        Change(RepoPath("pkg/link.py"), ChangeKind.MODIFIED, entry(MODE_LINK)),
        "link",
        "symbolic link modified",
    ),
    (Change(RepoPath("pkg/link.py"), ChangeKind.REMOVED, entry(MODE_LINK)), "link", "symbolic link removed"),
    (Change(RepoPath("a.py"), ChangeKind.RETYPED, entry(MODE_LINK), content()), "link", "retyped"),
    (
        Change(RepoPath("a.py"), ChangeKind.RETYPED, entry(), note="was a file, is a link now"),
        "link",
        "was a file",
    ),
    (
        Change(RepoPath("deps/x"), ChangeKind.MODIFIED, entry(MODE_SUBMODULE)),
        "submodule",
        "submodule modified",
    ),
    (Change(RepoPath("deps/x"), ChangeKind.REMOVED, entry(MODE_SUBMODULE)), "submodule", "submodule removed"),
    (
        Change(RepoPath("deps/x"), ChangeKind.ADDED, note="is a submodule that HEAD does not have"),
        "submodule",
        "added",
    ),
]


@pytest.mark.parametrize(("other", "change_class", "message"), OTHER_TYPES)
def test_what_is_no_regular_file_on_both_sides_is_refused(
    other: Change, change_class: str, message: str
) -> None:
    classified = classify(other, None, None)
    assert (classified.change_class.value, codes(classified)) == (change_class, [f"{change_class}-change"])
    assert message in said(classified)


def test_a_link_that_no_build_reads_is_outside() -> None:
    below_docs = Change(RepoPath("docs/link.md"), ChangeKind.ADDED, note=LINK.note)
    assert codes(classify(LINK, None, None)) == ["link-change"]
    assert codes(classify(below_docs, None, None)) == []


def test_a_link_called_submodule_is_a_link() -> None:
    link = Change(RepoPath("x"), ChangeKind.ADDED, note="is a symbolic link to 'is a submodule'")
    assert classify(link, None, None).change_class is ChangeClass.LINK


@pytest.mark.parametrize("path", ["pkg/a\nb.py", "pkg/a\rb.json", "pkg/\x7f.py", "pkg/\udcff.py"])
def test_names_that_no_wheel_can_carry_are_refused(path: str) -> None:
    classified = judged(path, "a = 1\n", "a = 2\n")
    assert codes(classified) == ["unsafe-name"]
    assert classified.problems[0].next_step.isprintable()


@pytest.mark.parametrize("path", ["pkg/a b.py", "pkg/größe.py", "pkg/日本.py", "pkg/~a.py", "pkg/it's.py"])
def test_unusual_names_are_fine(path: str) -> None:
    assert codes(judged(path, "a = 1\n", "a = 2\n")) == []


def test_a_data_file_of_undecodable_name_is_left_to_the_mapping() -> None:
    assert codes(judged("pkg/\udcff.json")) == []


UNDO = [
    ("csrc/a b.cu", ChangeKind.MODIFIED, "git stash push -- 'csrc/a b.cu'"),
    ("csrc/a.cu", ChangeKind.REMOVED, "git stash push -- csrc/a.cu"),
    ("csrc/a.cu", ChangeKind.ADDED, "git stash push --include-untracked -- csrc/a.cu"),
    ("csrc/\udcff'.cu", ChangeKind.MODIFIED, r"git stash push -- $'csrc/\xff\'.cu'"),
]


@pytest.mark.parametrize(("path", "kind", "command"), UNDO)
def test_the_next_step_undoes_the_change(path: str, kind: ChangeKind, command: str) -> None:
    (problem,) = classify(change(path, kind), None, None).problems
    assert problem.next_step == f"rebuild the image, or undo: {command}"


def test_an_acknowledgeable_problem_says_what_acknowledges_it() -> None:
    (problem,) = judged("a.py", "", "import torch\ntorch.ops.pkg.f()\n").problems
    assert problem.kind.acknowledge == "binding"
    assert "--acknowledge binding" in problem.next_step


def test_only_judged_contents_are_asked_for() -> None:
    asked = ["pkg/a.py", "setup.py", "pyproject.toml", "requirements.txt", "CMakeLists.txt"]
    unasked = ["pkg/a.pyi", "pkg/a.json", "csrc/a.cu", "pkg/a_pb2.py", "requirements-dev.txt", "README.md"]
    assert [path for path in asked + unasked if needs_content(RepoPath(path))] == asked
