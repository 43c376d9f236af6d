"""pyproject.toml, requirement files and build languages: only what a build or an installer reads counts."""

from __future__ import annotations

import pytest

from tests.core.changes import codes, judged, said

PYPROJECT = """\
    [build-system]
    requires = ["setuptools>=61", "wheel", "hatch-plugin"]

    [project]
    name = "pkg"
    version = "1.0"
    description = "old"
    requires-python = ">=3.10"
    dependencies = ["companion==1.0", "torch>=2"]
    dynamic = ["readme"]

    [project.optional-dependencies]
    gpu = ["cupy"]
    test = ["pytest"]

    [project.scripts]
    pkg = "pkg.main:main"

    [tool.setuptools.package-data]
    pkg = ["*.json"]

    [tool.setuptools.dynamic]
    version = {attr = "pkg.__version__"}

    [tool.hatch-plugin]
    a = 1

    [tool.hatch.build.targets.sdist]
    a = 1

    [tool.hatch.envs.default]
    a = 1

    [tool.hatch.build]
    a = 1

    [tool.poetry.dependencies]
    numpy = "1.0"

    [tool.poetry.group.dev.dependencies]
    black = "1.0"

    [tool.poetry.build]
    script = "build_it.py"

    [tool.uv.sources]
    companion = {rev = "a1"}

    [tool.uv]
    dev-dependencies = ["a"]

    [tool.ruff]
    line-length = 100

    [tool.cibuildwheel]
    build = "cp310-*"

    [dependency-groups]
    dev = ["pytest"]
    """

PYPROJECT_EDITS = [
    ('"setuptools>=61"', '"setuptools<77"', "build-change", "setuptools>=61 -> setuptools<77"),
    ('"hatch-plugin"', '"hatch-plugin>=2"', "build-change", "hatch-plugin -> hatch-plugin>=2"),
    ('name = "pkg"', 'name = "other"', "build-change", "project.name: 'pkg' -> 'other'"),
    (
        "pkg.main:main",
        "pkg.cli:main",
        "build-change",
        "project.scripts.pkg: 'pkg.main:main' -> 'pkg.cli:main'",
    ),
    ('["readme"]', '["entry-points"]', "build-change", "project.dynamic"),
    ('["*.json"]', '["*.yaml"]', "build-change", "tool.setuptools.package-data.pkg"),
    (
        "[tool.hatch-plugin]\n    a = 1",
        "[tool.hatch-plugin]\n    a = 2",
        "build-change",
        "tool.hatch-plugin.a: 1 -> 2",
    ),
    ("[tool.hatch.build]\n    a = 1", "[tool.hatch.build]\n    a = 2", "build-change", "tool.hatch.build.a"),
    ("build_it.py", "make_it.py", "build-change", "tool.poetry.build.script"),
    ("[tool.ruff]", "[unknown]\n    a = 1\n\n    [tool.ruff]", "build-change", "unknown.a: absent -> 1"),
    ("companion==1.0", "companion==1.1", "requirement-change", "companion==1.0 -> companion==1.1"),
    (', "torch>=2"', "", "requirement-change", "removes torch>=2"),
    ('"torch>=2"', '"torch>=2", "numpy"', "requirement-change", "adds numpy"),
    ("cupy", "cupy-cuda12x", "requirement-change", "project.optional-dependencies.gpu"),
    ('numpy = "1.0"', 'numpy = "2.0"', "requirement-change", "tool.poetry.dependencies.numpy"),
    ('"a1"', '"b2"', "requirement-change", "tool.uv.sources.companion.rev: 'a1' -> 'b2'"),
]

PYPROJECT_NOTES = [
    ("[project]", "# A comment.\n    [project]", "comments or formatting only"),
    (
        '["companion==1.0", "torch>=2"]',
        '["companion==1.0",\n      "torch>=2"]',
        "comments or formatting only",
    ),
    ('version = "1.0"', 'version = "1.1"', "metadata only: project.version"),
    ('">=3.10"', '">=3.11"', "metadata only: project.requires-python"),
    ('"setuptools>=61", "wheel"', '"setuptools>=77"', "nothing that a build uses: build-system.requires"),
    ('"old"', '"new"', "metadata only: project.description"),
    ('["readme"]', '["readme", "version"]', "metadata only: project.dynamic"),
    ("pkg.__version__", "pkg.version", "metadata only: tool.setuptools.dynamic.version.attr"),
    ("line-length = 100", "line-length = 110", "nothing that a build uses: tool.ruff.line-length"),
    ("cp310", "cp311", "nothing that a build uses: tool.cibuildwheel.build"),
    (
        'test = ["pytest"]',
        'test = ["pytest", "x"]',
        "nothing that a build uses: project.optional-dependencies.test",
    ),
    ('dev = ["pytest"]', 'dev = ["x"]', "nothing that a build uses: dependency-groups.dev"),
    ('black = "1.0"', 'black = "2.0"', "nothing that a build uses: tool.poetry.group.dev.dependencies.black"),
    ('["a"]', '["b"]', "nothing that a build uses: tool.uv.dev-dependencies"),
    (
        "sdist]\n    a = 1",
        "sdist]\n    a = 2",
        "nothing that a build uses: tool.hatch.build.targets.sdist.a",
    ),
    (
        "[tool.hatch.envs.default]\n    a = 1",
        "[tool.hatch.envs.default]\n    a = 2",
        "nothing that a build uses: tool.hatch.envs.default.a",
    ),
]


@pytest.mark.parametrize(("was", "is_now", "code", "message"), PYPROJECT_EDITS)
def test_pyproject_values_that_a_build_or_installer_uses(
    was: str, is_now: str, code: str, message: str
) -> None:
    assert was in PYPROJECT
    classified = judged("pyproject.toml", PYPROJECT, PYPROJECT.replace(was, is_now))
    assert (classified.change_class.value, codes(classified)) == ("build", [code])
    assert message in said(classified)


@pytest.mark.parametrize(("was", "is_now", "note"), PYPROJECT_NOTES)
def test_pyproject_values_that_change_nothing(was: str, is_now: str, note: str) -> None:
    assert was in PYPROJECT
    classified = judged("python/pyproject.toml", PYPROJECT, PYPROJECT.replace(was, is_now))
    assert (codes(classified), classified.note) == ([], note)


def test_order_and_spelling_of_dependencies_change_nothing() -> None:
    before = '[project]\ndependencies = ["Torch >= 2,<3", "a_b"]\n'
    after = '[project]\ndependencies = ["a-b", "torch<3,>=2"]\n'
    assert codes(judged("pyproject.toml", before, after)) == []
    assert codes(judged("pyproject.toml", before, after.replace("<3", "<4"))) == ["requirement-change"]


def test_all_that_differs_is_said_at_once() -> None:
    after = PYPROJECT.replace("companion==1.0", "companion==1.1").replace("pkg.main", "pkg.cli")
    assert codes(judged("pyproject.toml", PYPROJECT, after)) == ["build-change", "requirement-change"]


@pytest.mark.parametrize("after", ["[project\n", b"\xff\xfe", "a = 1\na = 2\n", b"a = " + b"[" * 5000])
def test_toml_that_cannot_be_parsed_counts_as_a_build_change(after: str | bytes) -> None:
    assert codes(judged("pyproject.toml", PYPROJECT, after)) == ["build-change"]


def test_a_pyproject_of_development_tools_may_come_and_go() -> None:
    tools = "[tool.ruff]\nline-length = 100\n"
    assert codes(judged("pyproject.toml", None, tools)) == []
    assert codes(judged("pyproject.toml", tools, None)) == []
    assert codes(judged("pyproject.toml", None, PYPROJECT)) == ["build-change", "requirement-change"]


def test_credentials_of_an_index_are_not_repeated() -> None:
    after = '[[tool.uv.index]]\nurl = "https://user:secret@packages.invalid/simple"\n'
    assert "secret" not in said(judged("pyproject.toml", "", after))


CARGO = '[package]\nname = "a"\nversion = "1.0"\n[dependencies]\npyo3 = "0.20"\n[dev-dependencies]\nx = "1"\n'


def test_cargo_manifests_are_judged_by_their_tables() -> None:
    assert codes(judged("rust/Cargo.toml", CARGO, CARGO.replace('"0.20"', '"0.21"'))) == ["build-change"]
    assert codes(judged("rust/Cargo.toml", CARGO, CARGO.replace('x = "1"', 'x = "2"'))) == []
    assert codes(judged("rust/Cargo.toml", CARGO, CARGO.replace('"1.0"', '"1.1"'))) == []
    assert codes(judged("rust/Cargo.lock", "", '[[package]]\nname = "a"\n')) == ["build-change"]


REQUIREMENTS = [
    ("torch==2.8.0\n", "torch==2.9.0\n", "torch==2.8.0 -> torch==2.9.0"),
    ("torch\n", "torch\nsgl-kernel==0.3.9\n", "adds sgl-kernel==0.3.9"),
    ("a\nb\n", "a\n", "removes b"),
    ("-r common.txt\n", "-r other.txt\n", "removes -r common.txt"),
    ("a==1 --hash=sha256:00\n", "a==1 --hash=sha256:11\n", "a==1 --hash=sha256:00 -> a==1 --hash=sha256:11"),
    ("x @ https://me:secret@host.invalid/x.whl\n", "", "removes x @ https://host.invalid/x.whl"),
    ("a \\\n  >=1\n", "a>=2\n", "a>=1 -> a>=2"),
    (None, "a\n", "adds a"),
    ("a\n", None, "removes a"),
]


@pytest.mark.parametrize(("before", "after", "message"), REQUIREMENTS)
def test_a_changed_requirement_is_named(before: str | None, after: str | None, message: str) -> None:
    classified = judged("requirements/cuda.txt", before, after)
    assert codes(classified) == ["requirement-change"]
    assert f": {message}" in said(classified)


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (["a==1"], ["a==1", "b"], "added"),
        (["a==1", "b"], ["a==1"], "removed"),
        (["a==1"], ["a==2"], "pin changed"),
        (["a==1"], ["a==2", "b"], "pin changed"),
        (["a==1"], ["b"], "added and removed"),
    ],
)
def test_what_became_of_dependencies_is_said(before: list[str], after: list[str], what: str) -> None:
    """In each kind of file; of several keys all together."""
    text, now = ("\n".join(lines) + "\n" for lines in (before, after))
    assert said(judged("requirements.txt", text, now)).startswith(f"dependency {what}: ")
    project, changed = (f"[project]\ndependencies = {lines}\n" for lines in (before, after))
    assert said(judged("pyproject.toml", project, changed)).startswith(f"dependency {what}, project.")
    pipfile, other = ("".join(f"{line[0]} = '{line[1:]}'\n" for line in lines) for lines in (before, after))
    classified = judged("Pipfile", f"[packages]\n{pipfile}", f"[packages]\n{other}")
    assert said(classified).startswith(f"dependency {what}, packages.")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torch==2.8.0\n", "# The one that works.\ntorch==2.8.0  # pinned\n\n"),
        ("a\nb\n", "b\na\n"),
        ("Some_Package>=1,<2\n", "some-package <2, >=1\n"),
        ("a\n", "a\r\n"),
    ],
)
def test_comments_order_and_spelling_of_requirements_change_nothing(before: str, after: str) -> None:
    classified = judged("requirements.txt", before, after)
    assert (codes(classified), classified.note) == ([], "comments or formatting only")


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("requirements.txt", True),
        ("requirements-cuda.in", True),
        ("requirements/build.txt", True),
        ("constraints.txt", True),
        ("docker/cuda-requirements.txt", True),
        ("requirements-dev.txt", False),
        ("requirements/docs.txt", False),
        ("requirements/pytest.txt", False),
        ("test_requirements.txt", False),
        ("requirements_lint.in", False),
        ("docs/requirements.txt", False),
        ("pkg/words.txt", False),
    ],
)
def test_requirement_files_by_name(path: str, read: bool) -> None:
    assert codes(judged(path, "a==1\n", "a==2\n")) == (["requirement-change"] if read else [])


HARMLESS = [
    ("CMakeLists.txt", 'set(A "x")\n', '# Why.\nset( A\n  "x" ) # here\n#[[ and\nhere ]]\n'),
    ("cmake/cuda.cmake", "set(A [[ # x ]])\n", "set(A [[ # x ]])  # y\n"),
    ("meson.build", "project('a',\n  version: '1')\nb = 1\n", "project('a',\n  version: '2')\nb = 1\n"),
    ("meson.build", "a = 1\nb = '# x'\n", "# Why.\na = 1  # here\n\nb = '# x'\n"),
    ("csrc/Makefile", "all:\n\techo a\n", "# Why.\n\nall:\n\techo a\n"),
    ("MANIFEST.in", "include a\n", "# Why.\ninclude a\n"),
    ("BUILD.bazel", "py_library(name = 'a')\n", "# Why.\npy_library(\n  name = 'a',\n)\n"),
    ("hatch_build.py", "a = 1\n", "# Why.\na = 1\n"),
    ("configure.ac", "AC_INIT\n", "AC_INIT\r\n"),
]


@pytest.mark.parametrize(("path", "before", "after"), HARMLESS)
def test_comments_in_build_languages_change_nothing(path: str, before: str, after: str) -> None:
    classified = judged(path, before, after)
    assert (classified.change_class.value, codes(classified)) == ("build", [])
    assert classified.note == "comments or formatting only"


HARMFUL = [
    ("CMakeLists.txt", 'set(A "x")\n', 'set(A "y")\n'),
    ("CMakeLists.txt", 'file(WRITE a "\n#include <a>\n")\n', 'file(WRITE a "\n#include <b>\n")\n'),
    ("CMakeLists.txt", 'set(A b"c")\n', 'set(A b "c")\n'),
    ("meson.build", "a = '''\n\nx'''\n", "a = '''\nx'''\n"),
    ("CMakeLists.txt", "set(A [=[ # x ]=])\n", "set(A [=[ # y ]=])\n"),
    ("meson.build", "a = '# x'\n", "a = '# y'\n"),
    ("meson.build", "a = '''\n# x\n'''\n", "a = '''\n# y\n'''\n"),
    ("meson.build", "a = 1\nb = 2\n", "a = 1 b = 2\n"),
    ("meson.build", "dependency('a', version: '1')\n", "dependency('a', version: '2')\n"),
    ("meson.build", *(f"project('a', version: '{x}')\nv = meson.project_version()\n" for x in (1, 2))),
    ("meson_options.txt", "option('a', value: true)\n", "option('a', value: false)\n"),
    ("csrc/Makefile", "all:\n\techo a # b\n", "all:\n\techo a # c\n"),
    ("csrc/Makefile", "# A comment \\\nA = 1\n", "# A comment\nA = 1\n"),
    ("MANIFEST.in", "include pkg/a\n", "include pkg/b\n"),
    ("MANIFEST.in", "include a\ngraft pkg\n", "include a\n"),
    ("MANIFEST.in", None, "global-exclude *.json\n"),
    ("BUILD", "py_library(name = 'a')\n", "py_library(name = 'b')\n"),
    ("MODULE.bazel", "module(name = 'a')\n", None),
    ("build.py", "a = 1\n", "a = 2\n"),
    ("hatch_build.py", None, "a = 1\n"),
    ("build.rs", "fn main() {}\n", "fn main() { }\n"),
    ("CMakePresets.json", "{}\n", "{'a': 1}\n"),
]


@pytest.mark.parametrize(("path", "before", "after"), HARMFUL)
def test_what_a_build_language_says_counts(path: str, before: str | None, after: str | None) -> None:
    assert codes(judged(path, before, after)) == ["build-change"]


@pytest.mark.parametrize(
    ("before", "after"), [("include a\n", "include b\n"), (None, "exclude .a *.b\n"), ("include a\n", None)]
)
def test_a_manifest_of_root_files_changes_no_package(before: str | None, after: str | None) -> None:
    classified = judged("MANIFEST.in", before, after)
    assert (codes(classified), classified.note) == ([], "files at the root alone, which no package holds")


def test_the_first_line_that_differs_is_named() -> None:
    message = said(judged("CMakeLists.txt", "a()\nb()\n", "a()\nc()\n"))
    assert message == "the build uses line 2 and perhaps more: c()"


def test_build_scripts_are_read_at_the_root_only() -> None:
    assert judged("build.py", "a = 1\n", "a = 2\n").change_class.value == "build"
    assert judged("pkg/build.py", "a = 1\n", "a = 2\n").change_class.value == "python"
