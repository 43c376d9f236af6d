"""What only the neighbours of a change show."""

from __future__ import annotations

import pytest

from overlaysync.core.classify import classify_set
from overlaysync.model.classified import ClassifiedChange
from overlaysync.model.worktree import RepoPath
from tests.core.changes import codes, judged, said

PACKAGE = ["pkg/__init__.py", "pkg/sub/__init__.py", "setup.py"]


def together(*changes: ClassifiedChange, tracked: list[str] | None = None) -> list[ClassifiedChange]:
    paths = [RepoPath(path) for path in (PACKAGE if tracked is None else tracked)]
    return list(classify_set(changes, paths))


@pytest.mark.parametrize("path", ["pk/include/x.cuh", "pk/csrc/deep/x.cu", "pk/x.h"])
def test_a_header_inside_a_package_is_a_jit_build_input(path: str) -> None:
    (inside,) = together(judged(path), tracked=["pk/__init__.py"])
    assert (inside.change_class.value, codes(inside)) == ("jit", ["jit-input"])
    assert "JIT build input" in said(inside)
    (elsewhere,) = together(judged(path), tracked=["other/__init__.py", "__init__.py"])
    assert (elsewhere.change_class.value, codes(elsewhere)) == ("native", ["native-change"])


def test_a_source_of_an_extension_inside_a_package_stays_native() -> None:
    (classified,) = together(judged("pkg/helpers.cpp"))
    assert codes(classified) == ["native-change"]


def test_a_package_that_is_new_counts() -> None:
    new, header = judged("new/__init__.py", None, ""), judged("new/x.cuh")
    assert codes(together(new, header)[1]) == ["jit-input"]


@pytest.mark.parametrize("name", ["service_pb2.py", "service_pb2.pyi", "service_pb2_grpc.py"])
def test_a_protobuf_module_needs_its_proto(name: str) -> None:
    module = judged(f"pkg/{name}")
    assert codes(together(module)[0]) == ["generated-change"]
    assert codes(together(module, judged("protos/other.proto"))[0]) == ["generated-change"]
    with_input = together(module, judged("protos/service.proto"))
    assert [codes(each) for each in with_input] == [[], ["generator-input"]]


def test_protoc_turns_dashes_into_underscores() -> None:
    assert codes(together(judged("pkg/my_service_pb2.py"), judged("protos/my-service.proto"))[0]) == []


def test_a_template_that_no_build_reads_is_outside() -> None:
    tracked = [*PACKAGE, "docs/theme/page.html", "theme/page.html"]
    assert together(judged("docs/theme/page.html.j2"), tracked=tracked)[0].change_class.value == "outside"
    assert together(judged("theme/page.html.j2"), tracked=tracked)[0].change_class.value == "generated"


@pytest.mark.parametrize("template", ["a.py.in", "a.py.j2", "a.py.jinja", "a.py.mako"])
def test_a_module_made_from_a_template_is_generated(template: str) -> None:
    module = judged("pkg/a.py", "a = 1\n", "a = 2\n")
    tracked = ["pkg/__init__.py", f"pkg/{template}"]
    (alone,) = together(module, tracked=tracked)
    assert (alone.change_class.value, codes(alone)) == ("generated", ["generated-change"])
    assert template in said(alone)
    (plain,) = together(module)
    assert (plain.change_class.value, codes(plain)) == ("python", [])


def test_a_module_and_its_template_are_refused_for_the_template() -> None:
    module, template = judged("pkg/a.py", "a = 1\n", "a = 2\n"), judged("pkg/a.py.j2")
    both = together(module, template, tracked=[*PACKAGE, "pkg/a.py", "pkg/a.py.j2"])
    assert [codes(each) for each in both] == [[], ["generator-input"]]
    assert both[0].change_class.value == "generated"


TEMPLATES = [
    ("pkg/templates/chat_template.jinja", "data", []),
    ("pkg/templates/page.html.j2", "data", []),
    ("pkg/scaffold/setup.py.jinja", "data", []),
    ("pkg/kernels/attention.cu.j2", "jit", ["jit-input"]),
    ("pkg/sub/made.json.tmpl", "generated", ["generator-input"]),
    ("csrc/prefill_inst.jinja", "generated", ["generator-input"]),
    ("csrc/prefill.cu.jinja", "generated", ["generator-input"]),
    ("README.md.j2", "data", []),
    ("docker/Dockerfile.j2", "outside", []),
]


@pytest.mark.parametrize(("path", "change_class", "expected"), TEMPLATES)
def test_a_template_is_data_or_input_by_where_it_lies(
    path: str, change_class: str, expected: list[str]
) -> None:
    (classified,) = together(judged(path), tracked=[*PACKAGE, "pkg/sub/made.json"])
    assert (classified.change_class.value, codes(classified)) == (change_class, expected)


def test_other_changes_pass_unchanged_and_in_order() -> None:
    changes = [
        judged("pkg/a.py", "a = 1\n", "a = 2\n"),
        judged("pyproject.toml", "", "[project]\nname = 'x'\n"),
        judged("tests/x.cuh"),
        judged("pkg/data.json"),
    ]
    assert together(*changes) == changes
