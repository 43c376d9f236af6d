"""What setuptools' build files select by name; what is left out here is in no wheel that it builds."""

from __future__ import annotations

import pytest

from overlaysync.core.setuptools_selection import Selection, selection
from overlaysync.model.target import InstalledPath

SETUP, TABLE = "import setuptools\nsetuptools.setup", "[tool.setuptools]\n"
CASES: dict[str, tuple[dict[str, str], list[str], list[str]]] = {
    # name: (build files, what is taken, what is not)
    "packages in pyproject.toml": (
        {"pyproject.toml": TABLE + "packages = ['pkg', 'pkg.sub']\n"},
        ["pkg/a.py", "pkg/sub/a.py", "alone.py"],
        ["pkg/other/__init__.py", "pkg/sub/deep/a.py"],
    ),
    "modules": (
        {"pyproject.toml": TABLE + "py-modules = ['alone']\n"},
        ["alone.py", "pkg/a.py"],
        ["another.py"],
    ),
    "packages that are found": (
        {"pyproject.toml": "[tool.setuptools.packages.find]\ninclude = ['pkg*']\nexclude = ['pkg.exp*']\n"},
        ["pkg/a.py", "pkg/sub/a.py", "pkg2/__init__.py"],
        ["pkg/exp/__init__.py", "pkg/experiments/deep/a.py", "other/__init__.py"],
    ),
    "data": (
        {
            "pyproject.toml": TABLE
            + "packages = ['pkg', 'pkg.sub']\n[tool.setuptools.package-data]\n"
            + "pkg = ['data/*.json', 'deep/**/*.txt']\n'*' = ['py.typed']\n"
        },
        ["pkg/data/a.json", "pkg/deep/a/b.txt", "pkg/sub/py.typed"],
        ["pkg/data/a.yaml", "pkg/data/more/a.json", "pkg/a.json"],
    ),
    "setup.cfg": (
        {"setup.cfg": "[options]\npackages =\n    pkg\n    pkg.sub\npy_modules = alone\n"},
        ["pkg/sub/a.py", "alone.py"],
        ["pkg/other/a.py", "another.py"],
    ),
    "setup.cfg that finds": (
        {"setup.cfg": "[options]\npackages = find:\n[options.packages.find]\nexclude =\n    pkg.exp*\n"},
        ["pkg/sub/a.py"],
        ["pkg/exp/a.py"],
    ),
    "setup.py": (
        {"setup.py": SETUP + "(packages=['pkg'], package_data={'pkg': ['*.json']})\n"},
        ["pkg/a.py", "pkg/a.json"],
        ["pkg/sub/a.py", "pkg/sub/a.json"],
    ),
    "setup.py that finds": (
        {"setup.py": SETUP + "(packages=setuptools.find_packages('.', ('pkg.exp*',)))\n"},
        ["pkg/a.py"],
        ["pkg/exp/a.py"],
    ),
    "a list that is computed": (
        {"setup.py": SETUP + "(packages=[*names, 'pkg'])\n"},
        ["pkg/a.py", "anything/a.py"],
        [],
    ),
    "nothing that can be read": (
        {"pyproject.toml": "[", "setup.cfg": "[", "setup.py": "("},
        ["pkg/a.py", "alone.py", "pkg/a.json"],
        [],
    ),
}


@pytest.mark.parametrize(("files", "taken", "left"), CASES.values(), ids=CASES)
def test_what_is_selected(files: dict[str, str], taken: list[str], left: list[str]) -> None:
    found = selection({name: text.encode() for name, text in files.items()})
    assert [path for path in taken if not found.takes(InstalledPath(path))] == []
    assert [path for path in left if found.takes(InstalledPath(path))] == []


def test_files_that_are_listed_elsewhere_too() -> None:
    table = TABLE + "packages = ['pkg']\n[tool.setuptools.package-data]\npkg = ['a.json']\n"
    found = selection({"pyproject.toml": table.encode(), "MANIFEST.in": b""})
    assert found == Selection(packages=("pkg",), more=True)
