"""setup.py and setup.cfg, judged by what setuptools reads from them."""

from __future__ import annotations

import pytest

from tests.core.changes import codes, judged, said

SETUP = """\
    import os
    from setuptools import Extension, setup

    VERSION = "1.0"
    python_requires = ">=3.9"
    REQUIRES = ["torch==2.8", "numpy"]
    TEST_REQUIRES = ["pytest"]
    GPU = ["cupy"]
    FLAGS = ["-O2"]

    def flags():
        return FLAGS

    setup(
        name="pkg",
        version=VERSION,
        python_requires=python_requires,
        description="old",
        packages=["pkg"],
        install_requires=REQUIRES,
        extras_require={"gpu": GPU, "test": TEST_REQUIRES, "extra": ["x"]},
        ext_modules=[Extension("pkg._C", ["a.c"], extra_compile_args=flags())],
    )
    """

USED = [
    ('"-O2"', '"-O3"', "build-change", "FLAGS (line 9)"),
    ("return FLAGS", "return FLAGS + []", "build-change", "flags (line 11)"),
    ('["a.c"]', '["a.c", "b.c"]', "build-change", "line 14"),
    ('packages=["pkg"]', 'packages=["pkg", "pkg.sub"]', "build-change", "line 14"),
    ('name="pkg"', 'name="other"', "build-change", "line 14"),
    ("import os\n", "import sys\n", "build-change", "line 1"),
    ("torch==2.8", "torch==2.9", "requirement-change", "REQUIRES: torch==2.8 -> torch==2.9"),
    ("cupy", "cupy-cuda12x", "requirement-change", "GPU: "),
    ('"extra": ["x"]', '"extra": ["y"]', "requirement-change", "extras_require.extra: "),
    ('{"gpu": GPU, ', '{"gpu": GPU, "all": GPU, ', "requirement-change", "extras_require.all"),
    ("install_requires=REQUIRES", "install_requires=[*REQUIRES]", "requirement-change", "install_requires"),
]


@pytest.mark.parametrize(("was", "is_now", "code", "message"), USED)
def test_what_setup_is_given_counts(was: str, is_now: str, code: str, message: str) -> None:
    assert was in SETUP
    classified = judged("setup.py", SETUP, SETUP.replace(was, is_now))
    assert (classified.change_class.value, codes(classified)) == ("build", [code])
    assert message in said(classified)


@pytest.mark.parametrize(
    ("was", "is_now", "note"),
    [
        ("setup(", "# Why.\n    setup(", "comments or formatting only"),
        ('VERSION = "1.0"', 'VERSION = "1.1"', "metadata only"),
        ("version=VERSION", 'version="1.2"', "metadata only"),
        (">=3.9", ">=3.10", "metadata only"),
        ('description="old"', 'description="new"', "metadata only"),
        ('description="old",', 'description="old", author="A", url="x",', "metadata only"),
        ('["pytest"]', '["pytest", "hypothesis"]', "nothing that a build uses: TEST_REQUIRES"),
    ],
)
def test_metadata_and_comments_of_a_setup_script_change_nothing(was: str, is_now: str, note: str) -> None:
    assert was in SETUP
    classified = judged("setup.py", SETUP, SETUP.replace(was, is_now))
    assert (codes(classified), classified.note) == ([], note)


def test_a_condition_named_after_development_is_no_development_requirement() -> None:
    before = "import setuptools\nCI = False\nsetuptools.setup(install_requires=['a'] if CI else [])\n"
    assert codes(judged("setup.py", before, before.replace("CI = False", "CI = True"))) == [
        "requirement-change"
    ]


@pytest.mark.parametrize("after", ["def f(:\n", b"\0", None])
def test_a_setup_script_that_cannot_be_read_or_is_gone_counts(after: str | bytes | None) -> None:
    assert "build-change" in codes(judged("setup.py", SETUP, after))


@pytest.mark.parametrize("path", ["setup.py", "python/setup.py", "csrc/kernels/setup.py"])
def test_a_setup_script_counts_wherever_it_lies(path: str) -> None:
    assert codes(judged(path, SETUP, SETUP.replace("-O2", "-O3"))) == ["build-change"]


SETUP_CFG = """\
    [metadata]
    name = pkg
    version = 1.0
    description = old

    [options]
    packages = find:
    install_requires =
        torch==2.8
        numpy

    [options.extras_require]
    gpu = cupy
    test = pytest

    [options.package_data]
    pkg = *.json

    [options.entry_points]
    console_scripts =
        pkg = pkg.main:main

    [egg_info]
    tag_build = dev

    [build_ext]
    inplace = 1

    [flake8]
    max-line-length = 100

    [tool:pytest]
    addopts = -q
    """


@pytest.mark.parametrize(
    ("was", "is_now", "code", "message"),
    [
        ("name = pkg", "name = other", "build-change", "metadata.name"),
        ("find:", "find_namespace:", "build-change", "options.packages"),
        ("*.json", "*.yaml", "build-change", "options.package_data.pkg"),
        ("pkg.main:main", "pkg.cli:main", "build-change", "options.entry_points.console_scripts"),
        ("inplace = 1", "inplace = 0", "build-change", "build_ext.inplace"),
        ("torch==2.8", "torch==2.9", "requirement-change", "torch==2.8 -> torch==2.9"),
        ("cupy", "cupy-cuda12x", "requirement-change", "options.extras_require.gpu"),
    ],
)
def test_sections_of_setuptools_count(was: str, is_now: str, code: str, message: str) -> None:
    assert was in SETUP_CFG
    classified = judged("setup.cfg", SETUP_CFG, SETUP_CFG.replace(was, is_now))
    assert (classified.change_class.value, codes(classified)) == ("build", [code])
    assert message in said(classified)


@pytest.mark.parametrize(
    ("was", "is_now"),
    [
        ("version = 1.0", "version = 1.1"),
        ("description = old", "description = new"),
        ("test = pytest", "test = pytest, x"),
        ("max-line-length = 100", "max-line-length = 110"),
        ("addopts = -q", "addopts = -v"),
        ("tag_build = dev", "tag_build ="),
        ("[build_ext]", "# Why.\n    [build_ext]"),
    ],
)
def test_other_sections_and_metadata_change_nothing(was: str, is_now: str) -> None:
    assert was in SETUP_CFG
    assert codes(judged("setup.cfg", SETUP_CFG, SETUP_CFG.replace(was, is_now))) == []


@pytest.mark.parametrize("after", [b"a = 1\n", b"[a\n", b"\xff\n"])
def test_a_setup_cfg_that_cannot_be_parsed_counts(after: bytes) -> None:
    assert codes(judged("setup.cfg", SETUP_CFG, after)) == ["build-change"]
