"""What stands in the target, put there by others, and would make a success a false one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tests.e2e.scenario import LocalScenario, codes

UNCHECKED = (
    "import py_compile, sys; py_compile.compile(sys.argv[1], "
    "invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)"
)


def plant_bytecode(local: LocalScenario, name: str, text: str) -> None:
    """Bytecode of another text, believed for ever, beside an installed source that is left as it is."""
    source = local.environment.site_packages / name
    kept, times = source.read_bytes(), source.stat()
    source.write_text(text)
    local.environment.python(UNCHECKED.replace("sys.argv[1]", repr(str(source))))
    source.write_bytes(kept)
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_an_original_with_bytecode_of_its_own_comes_back_with_it(local: LocalScenario) -> None:
    plant_bytecode(local, "sample_pkg/engine.py", "GENERATION = 7\n\n\ndef answer():\n    return 'planted'\n")
    before = local.files()
    local.edit_generation()
    local.applied()
    assert local.answer() == "generation 2: 1.0"
    assert local.ask("revert")["exit_code"] == 0
    assert local.files() == before


def test_a_removed_package_is_not_gone_while_a_module_of_its_name_is_there(local: LocalScenario) -> None:
    shutil.rmtree(local.project.path / "sample_pkg" / "models")
    (local.environment.site_packages / "sample_pkg" / "models.py").write_text("V = 'by hand'\n")
    assert local.push()["exit_code"] == 8
    (local.environment.site_packages / "sample_pkg" / "models.py").unlink()
    assert local.applied()["exit_code"] == 0


@pytest.mark.parametrize(
    "stray", ["layers/norm/__init__.py", f"layers/norm.cpython-3{sys.version_info[1]}-x86_64-linux-gnu.so"]
)
def test_what_stands_before_an_untouched_module_is_drift(local: LocalScenario, stray: str) -> None:
    local.edit_generation()
    path = local.environment.site_packages / "sample_pkg" / stray
    path.parent.mkdir(exist_ok=True)
    path.write_text("def normalise(value):\n    return 777\n")
    assert codes(local.refused()) == ["drift"]
    assert local.ask("verify")["exit_code"] == 1
    path.unlink()
    if path.name == "__init__.py":
        path.parent.rmdir()
    local.applied()


def test_a_tracked_module_that_record_does_not_list_is_refused_where_it_stands(local: LocalScenario) -> None:
    [record] = local.environment.site_packages.glob("sample_pkg-*.dist-info/RECORD")
    whole = record.read_text()
    lines = whole.splitlines(keepends=True)
    record.write_text("".join(line for line in lines if not line.startswith("sample_pkg/engine.py,")))
    local.edit_generation()
    assert codes(local.refused()) == ["ambiguous-mapping"]
    record.write_text(whole)
    local.applied()


def test_a_repository_inside_the_package_is_told(local: LocalScenario) -> None:
    nested = local.project.path / "sample_pkg" / "nested"
    nested.mkdir()
    (nested / "__init__.py").write_text("")
    local.project.git("init", "-q", str(nested))
    local.edit_generation()
    assert codes(local.refused()) == ["submodule-change"]
    shutil.rmtree(nested / ".git")
    assert len(local.applied()["operations"]) == 2


def test_names_of_our_own_are_refused(local: LocalScenario) -> None:
    own = local.project.write("sample_pkg/.overlaysync.py", "V = 1\n")
    assert (local.refused()["exit_code"], codes(local.refused())) == (3, ["unsafe-name"])
    own.unlink()
    local.edit_generation()
    local.applied()


def test_a_constant_that_is_no_number_is_proven_like_any_other(local: LocalScenario) -> None:
    local.project.write("sample_pkg/extra.py", "NAN = 1e999 - 1e999\n\n\ndef f():\n    return 1e999 * 0\n")
    local.applied()
    assert local.push()["outcome"] == "unchanged"


def test_status_sees_bytecode_that_was_planted_over_the_overlay(local: LocalScenario) -> None:
    local.edit_generation()
    local.applied()
    assert local.ask("status")["exit_code"] == 0
    plant_bytecode(local, "sample_pkg/engine.py", "def answer():\n    return 'planted'\n")
    assert local.ask("status")["exit_code"] == 1
    assert local.ask("verify")["exit_code"] == 1


def test_verify_and_revert_tell_what_was_lost(local: LocalScenario) -> None:
    local.edit_generation()
    local.applied()
    ours = local.environment.site_packages / ".overlaysync"
    kept = ours.parent / "kept"
    shutil.copytree(ours, kept)
    (ours / "sample-pkg" / "originals" / "sample_pkg" / "engine.py").unlink()
    assert codes(local.ask("verify")) == ["overlay-damaged"]
    shutil.rmtree(ours)
    assert codes(local.ask("verify")) == ["drift", "record-lost"]
    answer = local.ask("revert")
    assert (answer["outcome"], answer["exit_code"], codes(answer)) == ("refused", 5, ["record-lost"])
    shutil.move(kept, ours)
    assert local.ask("revert")["outcome"] == "applied"


def test_values_of_options_named_like_secrets_are_not_shown(local: LocalScenario) -> None:
    local.edit_generation()
    waiting = "import sample_pkg, sys, time; print('up', flush=True); time.sleep(60)"
    command = [str(local.environment.executable), "-c", waiting, "--api-key=S3CRET", "--token", "S3CRET"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=local.environment.prefix) as process:
        assert process.stdout is not None
        process.stdout.readline()
        answer = local.refused()
        process.kill()
    assert (answer["exit_code"], codes(answer)) == (6, ["workload"])
    assert "S3CRET" not in str(answer)
    assert "--api-key=***" in str(answer)
    local.applied()


FRONT = "import os\n\n__path__.insert(0, os.path.join(os.path.dirname(__file__), 'fast'))\n"


@pytest.mark.parametrize("when", ["at HEAD", "with the push", "after it"])
def test_a_package_that_looks_for_its_modules_elsewhere_first(local: LocalScenario, when: str) -> None:
    """Only running it shows what comes of ``__path__``, so the risk is told, and taken by whoever knows."""
    project, site = local.project, local.environment.site_packages / "sample_pkg"
    if when == "at HEAD":
        project.write("sample_pkg/layers/__init__.py", FRONT)
        local.options = ["--image-commit", project.commit("Another place first")]
        (site / "layers/__init__.py").write_text(FRONT)
        for record in site.parent.glob("sample_pkg-*.dist-info/RECORD"):
            lines = record.read_text().splitlines()
            without = [line for line in lines if not line.startswith("sample_pkg/layers/__init__.py,")]
            record.write_text("\n".join([*without, "sample_pkg/layers/__init__.py,,", ""]))
    (site / "layers/fast").mkdir()
    project.edit("layers/norm.py", "/ 8", "/ 4")
    if when == "after it":
        local.applied()
    if when != "at HEAD":
        project.write("sample_pkg/layers/__init__.py", FRONT)
    answer = local.refused()
    assert (answer["exit_code"], codes(answer)) == (5, ["package-path"])
    assert [problem["path"] for problem in answer["problems"]] == ["sample_pkg/layers/norm.py"]
    local.applied("--acknowledge", "search-path")
    assert local.answer() == "generation 1: 2.0"
    assert local.push()["outcome"] == "unchanged"  # the same content is not asked about again
    (site / "layers/fast/norm.py").write_text("def normalise(value):\n    return 'elsewhere'\n")
    assert local.answer() == "generation 1: elsewhere"  # which is the trap
    if when == "at HEAD":
        project.edit("engine.py", "GENERATION = 1", "GENERATION = 2")
        project.git("checkout", "--quiet", "--", "sample_pkg/layers/norm.py")
        assert local.applied()["operations"]  # nothing below that package


def test_a_package_whose_source_this_clone_lacks_may_be_one(local: LocalScenario) -> None:
    """As in a partial clone with a sparse checkout: what is not known is not taken for harmless."""
    project, init = local.project, "sample_pkg/layers/__init__.py"
    oid = project.git("rev-parse", f"HEAD:{init}")
    project.git("update-index", "--skip-worktree", init)
    (project.path / init).unlink()
    (project.path / ".git/objects" / oid[:2] / oid[2:]).unlink()
    project.edit("layers/norm.py", "/ 8", "/ 4")
    answer = local.refused()
    assert (answer["exit_code"], codes(answer)) == (5, ["package-path"])
    assert "cannot be read here" in answer["problems"][0]["message"]
    local.applied("--acknowledge", "search-path")
