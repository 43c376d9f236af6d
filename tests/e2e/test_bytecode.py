"""Bytecode that would be taken for the new source: E01, E03, E04, E06."""

from __future__ import annotations

import pytest

from tests.e2e.scenario import REVISION, Scenario, Stage, Work, codes
from tests.parts.containers import Container

pytestmark = pytest.mark.container

COMPILE = (
    "import compileall, py_compile, sys; compileall.compile_dir(sys.argv[1], quiet=2, force=True, "
    "legacy={legacy}, invalidation_mode=py_compile.PycInvalidationMode.{mode})"
)
IMPORT = "import sample_pkg.engine as m; print(m.GENERATION)"
FIND = "import importlib.util; print(importlib.util.find_spec('sample_pkg.models.tiny'))"


def bytecode(work: Work, module: str) -> list[str]:
    return [name for name in work.files() if f"/{module}." in f"/{name}" and name.endswith(".pyc")]


def compiled(stage: Stage, mode: str, *, legacy: bool = False) -> Scenario:
    """An image whose package was compiled again, in one of the ways in which images are."""
    project = stage.project()

    def compile_again(container: Container) -> None:
        site = container.python("import sysconfig; print(sysconfig.get_path('purelib'))")
        code = COMPILE.format(mode=mode, legacy=legacy)
        container.exec("python3", "-c", code, f"{site}/sample_pkg", check=True)

    return stage.start(project, stage.image(project, prepare=compile_again))


@pytest.mark.parametrize("mode", ["TIMESTAMP", "CHECKED_HASH", "UNCHECKED_HASH"])
def test_no_mode_of_validation_keeps_the_old_code(stage: Stage, mode: str) -> None:
    """The edit has the size of the original, and its time is set back to the second of the original."""
    scenario = compiled(stage, mode)
    before = scenario.files()
    assert bytecode(scenario, "engine")
    scenario.edit_generation()
    answer = scenario.applied()
    assert scenario.python(IMPORT) == "2"
    [record] = [item for item in record_files(scenario) if item["destination"] == "sample_pkg/engine.py"]
    assert record["bytecode_dropped"]
    assert answer["operations"][0]["installed_sha256"] == record["sha256"]
    scenario.ask("revert")
    assert scenario.files() == before
    assert scenario.python(IMPORT) == "1"


def record_files(scenario: Scenario) -> list[dict[str, object]]:
    shown = scenario.cli("-C", scenario.project.path, "manifest", "show", "--json").json()
    files: list[dict[str, object]] = shown["details"]["manifest"]["files"]
    return files


def test_bytecode_that_was_not_from_this_source(scenario: Scenario) -> None:
    """E03 the other way round: the image's original source was never what ran."""
    site = scenario.site
    lie = (
        "import pathlib, sys; from py_compile import PycInvalidationMode as Mode, compile;"
        "p = pathlib.Path(sys.argv[1]); text = p.read_text();"
        "p.write_text(text.replace('GENERATION = 1', 'GENERATION = 9'));"
        "compile(p, doraise=True, invalidation_mode=Mode.UNCHECKED_HASH);"
        "p.write_text(text)"
    )
    scenario.container.exec("python3", "-c", lie, f"{site}/sample_pkg/engine.py", check=True)
    assert scenario.python(IMPORT) == "9"
    scenario.edit_generation()
    scenario.applied()
    assert scenario.python(IMPORT) == "2"


def test_a_cache_outside_the_tree(stage: Stage) -> None:
    """E04: PYTHONPYCACHEPREFIX of the container; nothing beside the source shows it."""
    scenario = stage.set(environment={"PYTHONPYCACHEPREFIX": "/var/tmp/cache"})
    assert scenario.python(IMPORT) == "1"
    cached = f"/var/tmp/cache{scenario.site}/sample_pkg/engine.cpython-311.pyc"
    assert scenario.container.exec("stat", cached).returncode == 0
    scenario.edit_generation()
    scenario.applied()
    assert scenario.container.exec("stat", cached).returncode != 0
    assert scenario.python(IMPORT) == "2"
    scenario.ask("revert")
    assert scenario.python(IMPORT) == "1"


def test_a_removed_module_is_gone(stage: Stage) -> None:
    """E06: a legacy ``.pyc`` beside the source would be imported without it."""
    scenario = compiled(stage, "TIMESTAMP", legacy=True)
    before = scenario.files()
    assert "sample_pkg/models/tiny.pyc" in before
    (scenario.project.path / "sample_pkg" / "models" / "tiny.py").unlink()
    answer = scenario.applied()
    assert [item["action"] for item in answer["operations"]] == ["remove"]
    assert scenario.python(FIND) == "None"
    assert bytecode(scenario, "tiny") == []
    scenario.ask("revert")
    assert scenario.files() == before
    assert "ModuleSpec" in scenario.python(FIND)


def test_an_image_without_sources(stage: Stage) -> None:
    """Only ``engine.pyc`` where HEAD has ``engine.py``: the original cannot be told."""
    scenario = compiled(stage, "UNCHECKED_HASH", legacy=True)
    scenario.container.exec("rm", f"{scenario.site}/sample_pkg/engine.py", check=True)
    scenario.edit_generation()
    answer = scenario.refused()
    assert answer["exit_code"] == 5
    assert codes(answer)
    assert scenario.python(IMPORT) == "1"
    assert REVISION in str(answer["baseline"]["evidence"])
