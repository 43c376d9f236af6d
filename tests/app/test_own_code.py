"""The mark of our own code is another one with every change of a module."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from types import ModuleType

import pytest

from overlaysync.app.own_code import mark


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    directory = tmp_path / "some_code_of_ours"
    directory.mkdir()
    (directory / "__init__.py").write_text("")
    (directory / "judge.py").write_text("A = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return importlib.import_module("some_code_of_ours")


def place(package: ModuleType) -> Path:
    return Path(package.__path__[0])


def test_it_stays_while_nothing_changes(package: ModuleType) -> None:
    before = mark((package,))
    (place(package) / "notes.txt").write_text("no code")
    assert mark((package,)) == before


@pytest.mark.parametrize("change", ["written", "touched", "replaced", "added", "removed"])
def test_it_is_another_one_where_a_module_is(package: ModuleType, change: str) -> None:
    module, before = place(package) / "judge.py", mark((package,))
    status = module.stat()
    if change == "written":
        module.write_text("A = 2\n")
    elif change == "touched":
        os.utime(module, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    elif change == "replaced":
        (place(package) / "new").write_bytes(module.read_bytes())
        (place(package) / "new").replace(module)
        os.utime(module, ns=(status.st_atime_ns, status.st_mtime_ns))
    elif change == "added":
        (place(package) / "other.py").write_text("")
    else:
        module.unlink()
    assert mark((package,)) != before


def test_a_file_beside_counts_too(package: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "beside").write_text("1")
    before = mark((package,), [str(tmp_path / "beside")])
    (tmp_path / "beside").write_text("22")
    assert mark((package,), [str(tmp_path / "beside")]) != before


def test_code_without_its_source_has_none(package: ModuleType) -> None:
    for file in place(package).glob("*.py"):
        file.rename(file.with_suffix(".pyc"))
    with pytest.raises(OSError, match="some_code_of_ours"):
        mark((package,))
