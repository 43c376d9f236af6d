"""The parts that other tests stand on do what they say."""

from __future__ import annotations

import os
import stat
import sys
import zipfile
from pathlib import Path

import pytest

from tests.parts.command_line import CommandLine, Result
from tests.parts.engine import EngineMissingError, find_engine
from tests.parts.environments import make_environment
from tests.parts.extensions import extension_of
from tests.parts.interpreters import installed_interpreters
from tests.parts.packages import SampleProject
from tests.parts.wheels import pip_install, read_record

USE_PACKAGE = "import sample_pkg, sample_pkg.ops as ops; print(sample_pkg.answer(), ops.queue_of(7).get())"
USED = "generation 1: 1.0 7"


def files_below(root: Path) -> dict[str, tuple[int, bytes]]:
    paths = {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}
    return {name: (stat.S_IMODE(path.stat().st_mode), path.read_bytes()) for name, path in paths.items()}


# repositories and wheels


@pytest.mark.parametrize(
    ("layout", "package"), [("", "sample_pkg"), ("src", "src/sample_pkg"), ("python", "python/sample_pkg")]
)
def test_a_project_is_the_same_commit_on_every_run(tmp_path: Path, layout: str, package: str) -> None:
    first, second = (SampleProject(tmp_path / name, layout=layout) for name in ("first", "second"))
    assert first.head == second.head
    assert first.git("status", "--porcelain") == ""
    assert first.source() == package
    assert (first.path / package / "layers/norm.py").is_file()


def test_a_wheel_holds_the_commit_and_not_the_worktree(tmp_path: Path) -> None:
    project = SampleProject(tmp_path / "repository", layout="src")
    project.edit("layers/norm.py", "/ 8", "/ 2")
    wheel = project.build_wheel(tmp_path, without=["sample_pkg/models/*"])
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert archive.read("sample_pkg/layers/norm.py").endswith(b"value / 8\n")
    assert "sample_pkg/_version.py" in names
    assert "sample_pkg/data/defaults.json" in names
    assert not [name for name in names if "models" in name or "csrc" in name or "tools" in name]


def test_unpacking_gives_what_pip_gives(tmp_path: Path) -> None:
    wheel = SampleProject(tmp_path / "repository").build_wheel(
        tmp_path, extension=extension_of(sys.executable)
    )
    by_pip, by_hand = make_environment(tmp_path / "pip"), make_environment(tmp_path / "hand")
    pip_install(wheel, by_pip.executable)
    by_hand.install(wheel)

    information = "sample_pkg-1.0.dist-info"
    only_pip = {f"{information}/REQUESTED", f"{information}/direct_url.json"}
    differing = {f"{information}/RECORD"}
    expected, actual = files_below(by_pip.site_packages), files_below(by_hand.site_packages)
    compiled = {name for name in actual if name.endswith(".pyc")}  # each names its own folder
    assert compiled
    assert expected.keys() - only_pip == actual.keys()
    for name in actual.keys() - compiled - differing:
        assert actual[name] == expected[name], name

    records = [
        read_record(environment.site_packages / information / "RECORD") for environment in (by_pip, by_hand)
    ]
    assert {row for row in records[0] if row[0] not in only_pip} == records[1]
    assert by_pip.python(USE_PACKAGE) == by_hand.python(USE_PACKAGE) == USED


# isolation and command line


def test_the_environment_of_a_test_is_its_own(isolation: Path) -> None:
    assert Path.home() == isolation
    assert Path(os.environ["XDG_STATE_HOME"]).is_relative_to(isolation)
    assert "PYTHONDONTWRITEBYTECODE" not in os.environ
    assert "NO_COLOR" not in os.environ


def test_bytecode_is_written_by_a_test_s_processes(tmp_path: Path) -> None:
    environment = make_environment(tmp_path / "environment")
    (environment.site_packages / "lone.py").write_text("VALUE = 1\n")
    assert environment.python("import lone; print(lone.VALUE)") == "1"
    assert list(environment.site_packages.glob("__pycache__/lone.*.pyc"))


def test_the_command_line_runs_in_a_process(cli: CommandLine) -> None:
    assert cli("--no-such-option").exit_code == 2


def test_a_result_reads_one_json_value_and_nothing_else() -> None:
    assert Result(0, '{"exit_code": 0}\n', "").json() == {"exit_code": 0}
    with pytest.raises(AssertionError, match="one JSON value"):
        Result(0, 'note\n{"exit_code": 0}\n', "").json()


def test_interpreters_are_found_by_version() -> None:
    found = installed_interpreters()
    assert found
    assert all(path.name == f"python{version}" for version, path in found.items())


def test_a_missing_engine_is_told_by_its_reason() -> None:
    with pytest.raises(EngineMissingError, match="no-such-engine is not installed"):
        find_engine("no-such-engine")
