"""Bytecode that Python would take for the new source, and extension modules that it takes before any."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from tests.e2e.cases.seen import Case
from tests.e2e.scenario import Scenario, Stage, Work, codes
from tests.parts.containers import Container

pytestmark = pytest.mark.container

COMPILE = (
    "import compileall, py_compile, sys; compileall.compile_dir(sys.argv[1], quiet=2, force=True, "
    "legacy={legacy}, optimize={levels}, invalidation_mode=py_compile.PycInvalidationMode.{mode})"
)
IMPORT = "import sample_pkg.engine as m; print(m.GENERATION)"
FIND = "import importlib.util; print(importlib.util.find_spec('sample_pkg.models.tiny'))"
LEVELS: tuple[tuple[str, ...], ...] = ((), ("-O",), ("-OO",))
EDIT_IN_PLACE = (
    "import os, sys; place = sys.argv[1]; text = open(place).read(); status = os.stat(place);"
    "open(place, 'w').write(text.replace('GENERATION = 1', 'GENERATION = 7'));"
    "os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))"
)
"""What ``docker cp`` and a restored time leave: another content of the same size and second."""


def bytecode(work: Work, module: str) -> list[str]:
    return [name for name in work.files() if f"/{module}." in f"/{name}" and name.endswith(".pyc")]


def compile_again(container: Container, mode: str, *, legacy: bool = False) -> str:
    """Compiles the package, in one of the ways in which images are; the install root."""
    site = container.python("import sysconfig; print(sysconfig.get_path('purelib'))")
    code = COMPILE.format(mode=mode, legacy=legacy, levels=-1 if legacy else [0, 1, 2])
    container.exec("python3", "-c", code, f"{site}/sample_pkg", check=True)
    return site


def compiled(stage: Stage, mode: str, *, legacy: bool = False) -> Scenario:
    """A container of an image whose package was compiled again."""
    project = stage.project()
    prepare = partial(compile_again, mode=mode, legacy=legacy)
    return stage.start(project, stage.image(project, prepare=prepare))


def imported(scenario: Scenario, *options: str) -> str:
    """What a new process of the workload's Python runs; it leaves no bytecode of its own."""
    return scenario.container.exec("python3", "-B", *options, "-c", IMPORT, check=True).stdout.strip()


def engine(scenario: Scenario) -> str:
    return f"{scenario.site}/sample_pkg/engine.py"


def record_of(scenario: Scenario, destination: str) -> dict[str, Any]:
    shown = scenario.cli("-C", scenario.project.path, "manifest", "show", "--json").json()
    files: list[dict[str, Any]] = shown["details"]["manifest"]["files"]
    [record] = [item for item in files if item["destination"] == destination]
    return record


@pytest.mark.case("E01")
def test_an_edit_of_the_same_size_and_second(stage: Stage, case: Case) -> None:
    scenario = compiled(stage, "TIMESTAMP")
    before = scenario.files()
    assert len(bytecode(scenario, "engine")) == 3
    by_hand = scenario.container
    by_hand.exec("cp", "-a", engine(scenario), "/kept.py", check=True)
    by_hand.exec("python3", "-c", EDIT_IN_PLACE, engine(scenario), check=True)
    assert [imported(scenario, *level) for level in LEVELS] == [
        "1",
        "1",
        "1",
    ]  # the trap: the edit is not seen
    by_hand.exec("cp", "-a", "/kept.py", engine(scenario), check=True)

    scenario.edit_generation()
    answer = scenario.applied()
    by_hand.exec("touch", "-r", "/kept.py", engine(scenario), check=True)  # the original's second, afterwards
    assert [imported(scenario, *level) for level in LEVELS] == ["2", "2", "2"]
    case.trap(answer, "at every level of optimisation the new code runs, also with the original's time")
    scenario.ask("revert")
    assert scenario.files() == before
    assert imported(scenario) == "1"
    by_hand.exec("sh", "-c", f"rm -r {scenario.site}/sample_pkg/__pycache__", check=True)
    case.control(scenario.applied(), "the same without any bytecode")
    assert imported(scenario) == "2"


@pytest.mark.case("E03")
@pytest.mark.parametrize("mode", ["CHECKED_HASH", "UNCHECKED_HASH"])
def test_bytecode_that_is_trusted_for_ever(stage: Stage, case: Case, mode: str) -> None:
    scenario = compiled(stage, mode)
    before = scenario.files()
    scenario.container.exec("cp", "-a", engine(scenario), "/kept.py", check=True)
    scenario.container.exec("python3", "-c", EDIT_IN_PLACE, engine(scenario), check=True)
    seen = [imported(scenario, *level) for level in LEVELS]
    assert seen == (["1"] * 3 if mode == "UNCHECKED_HASH" else ["7"] * 3)
    scenario.container.exec("cp", "-a", "/kept.py", engine(scenario), check=True)

    scenario.project.edit("engine.py", "GENERATION = 1", "GENERATION = 2000")
    answer = scenario.applied()
    assert [imported(scenario, *level) for level in LEVELS] == ["2000"] * 3
    record = record_of(scenario, "sample_pkg/engine.py")
    assert sorted(record["bytecode_dropped"]) == sorted(record["bytecode_validation"])
    found = set(record["bytecode_validation"].values())
    assert found == {mode.lower().replace("_", "-")}
    told = [note for note in answer["details"]["notes"] if "unchecked-hash" in note]
    assert len(told) == (3 if mode == "UNCHECKED_HASH" else 0)
    case.trap(answer, f"dropped, and recorded as {', '.join(found)}{', which is said' if told else ''}")
    scenario.ask("revert")
    assert scenario.files() == before
    scenario.container.exec("rm", "-r", f"{scenario.site}/sample_pkg/__pycache__", check=True)
    assert scenario.python(IMPORT) == "1"  # which writes a timestamp's
    case.control(scenario.applied(), "bytecode as Python writes it by itself")
    assert set(record_of(scenario, "sample_pkg/engine.py")["bytecode_validation"].values()) == {"timestamp"}


@pytest.mark.case("E03")
def test_bytecode_that_was_not_from_this_source(scenario: Scenario, case: Case) -> None:
    """The image's original source was never what ran, and what ran is trusted for ever."""
    lie = (
        "import pathlib, sys; from py_compile import PycInvalidationMode as Mode, compile;"
        "p = pathlib.Path(sys.argv[1]); text = p.read_text();"
        "p.write_text(text.replace('GENERATION = 1', 'GENERATION = 9'));"
        "compile(p, doraise=True, invalidation_mode=Mode.UNCHECKED_HASH);"
        "p.write_text(text)"
    )
    scenario.container.exec("python3", "-c", lie, engine(scenario), check=True)
    assert scenario.python(IMPORT) == "9"
    scenario.edit_generation()
    answer = case.trap(scenario.applied(), "bytecode of another source is dropped like any other")
    assert "unchecked-hash" in str(answer["details"]["notes"])
    assert scenario.python(IMPORT) == "2"
    scenario.edit_generation(3)
    answer = case.control(scenario.applied(), "the bytecode that Python wrote since then is a timestamp's")
    assert "unchecked-hash" not in str(answer["details"]["notes"])
    record = record_of(scenario, "sample_pkg/engine.py")
    assert set(record["bytecode_validation"].values()) == {"timestamp"}


@pytest.mark.case("E03")
@pytest.mark.parametrize("kind", ["link", "mount"])
def test_bytecode_of_another_place(stage: Stage, case: Case, kind: str) -> None:
    """Python follows ``__pycache__`` wherever it leads; what lies there is not ours to remove."""
    scenario = compiled(stage, "UNCHECKED_HASH")
    cache = f"{scenario.site}/sample_pkg/__pycache__"
    if kind == "link":
        scenario.container.exec("sh", "-ec", f"mv {cache} /cache; ln -s /cache {cache}", check=True)
    else:
        tag = stage.image(scenario.project)
        scenario = stage.start(scenario.project, tag, arguments=[f"--volume={cache}"])
        assert "engine.cpython" in scenario.container.exec("ls", cache, check=True).stdout
    assert imported(scenario, *LEVELS[1]) == "1"
    scenario.edit_generation()
    answer = case.trap(scenario.refused(), f"the cache beside the source is a {kind}")
    assert (answer["exit_code"], codes(answer)) == (5, [kind])
    assert "__pycache__" in answer["problems"][0]["message"]
    if kind == "link":
        scenario.container.exec("rm", cache, check=True)
    else:
        scenario = stage.start(scenario.project, tag)
    case.control(scenario.applied(), f"without the {kind}")
    assert imported(scenario) == "2"


@pytest.mark.case("E04")
@pytest.mark.parametrize("prefix", ["/var/tmp/cache", "cache"])
def test_a_cache_outside_the_tree(stage: Stage, case: Case, prefix: str) -> None:
    """PYTHONPYCACHEPREFIX of the container, absolute or below its working directory."""
    scenario = stage.set(environment={"PYTHONPYCACHEPREFIX": prefix}, arguments=["--workdir=/var/tmp"])
    assert scenario.python(IMPORT) == "1"
    found = f"/var/tmp/cache{scenario.site}/sample_pkg"
    mirrored = scenario.container.exec("ls", found, check=True).stdout.split()
    assert "engine.cpython" in str(mirrored)
    scenario.container.exec("cp", "-a", engine(scenario), "/kept.py", check=True)
    scenario.container.exec("python3", "-c", EDIT_IN_PLACE, engine(scenario), check=True)
    assert imported(scenario) == "1"  # the trap
    scenario.container.exec("cp", "-a", "/kept.py", engine(scenario), check=True)
    scenario.edit_generation()
    answer = scenario.applied()
    scenario.container.exec("touch", "-r", "/kept.py", engine(scenario), check=True)
    left = scenario.container.exec("ls", found, check=True).stdout.split()
    assert [name for name in mirrored if name not in left] == [
        name for name in mirrored if name.startswith("engine.")
    ]
    assert imported(scenario) == "2"
    record = record_of(scenario, "sample_pkg/engine.py")
    assert "timestamp" in record["bytecode_validation"].values()
    case.trap(answer, "the cache is asked of the interpreter, and dropped there")
    scenario.ask("revert")
    assert imported(scenario) == "1"
    without = stage.start(scenario.project, stage.image(scenario.project))
    case.control(without.applied(), "with the cache beside the source")
    assert imported(without) == "2"


@pytest.mark.case("E06")
def test_a_removed_module_is_gone(stage: Stage, case: Case) -> None:
    """A legacy ``.pyc`` beside the source would be imported without it."""
    scenario = compiled(stage, "TIMESTAMP", legacy=True)
    before = scenario.files()
    place = f"{scenario.site}/sample_pkg/models/tiny.py"
    scenario.container.exec("mv", place, "/kept.py", check=True)
    assert "tiny.pyc" in scenario.python(FIND)  # the trap
    scenario.container.exec("mv", "/kept.py", place, check=True)
    (scenario.project.path / "sample_pkg" / "models" / "tiny.py").unlink()
    answer = scenario.applied()
    assert [item["action"] for item in answer["operations"]] == ["remove"]
    assert scenario.python(FIND) == "None"
    assert bytecode(scenario, "tiny") == []
    case.trap(answer, "the source and all its bytecode go, and nothing is imported any more")
    scenario.ask("revert")
    assert scenario.files() == before
    assert "ModuleSpec" in scenario.python(FIND)
    scenario.container.exec("rm", place + "c", check=True)
    case.control(scenario.applied(), "removed without a legacy file beside it")
    assert scenario.python(FIND) == "None"


@pytest.mark.case("E06")
def test_a_removed_module_that_is_still_found_elsewhere(scenario: Scenario, case: Case) -> None:
    """What was removed could still be imported, from a package of its name: that would be no removal."""
    (scenario.project.path / "sample_pkg" / "models" / "tiny.py").unlink()
    legacy = f"{scenario.site}/sample_pkg/models/tiny"
    scenario.container.exec("sh", "-ec", f"mkdir {legacy}; cp {legacy}.py {legacy}/__init__.py", check=True)
    assert "tiny/__init__.py" in scenario.python(FIND)
    answer = case.trap(scenario.refused(), "a package of the module's name stands beside it")
    assert answer["exit_code"] == 5
    scenario.container.exec("rm", "-r", legacy, check=True)
    case.control(scenario.applied())
    assert scenario.python(FIND) == "None"


@pytest.mark.case("E06")
@pytest.mark.parametrize("recorded", [True, False])
def test_an_image_without_sources(stage: Stage, case: Case, recorded: bool) -> None:
    """Only ``engine.pyc`` where HEAD has ``engine.py``: the original cannot be told."""
    project = stage.project()

    def strip(container: Container) -> None:
        site = compile_again(container, "UNCHECKED_HASH", legacy=True)
        container.exec("mv", f"{site}/sample_pkg/engine.py", "/kept.py", check=True)
        record = f"{site}/sample_pkg-1.0.dist-info/RECORD"
        lines = container.exec("cat", record, check=True).stdout
        if not recorded:
            container.write(record, lines.replace("sample_pkg/engine.py,", "sample_pkg/engine.pyc,"))

    scenario = stage.start(project, stage.image(project, prepare=strip))
    assert imported(scenario) == "1"  # the trap: it works without its source
    scenario.edit_generation()
    answer = case.trap(scenario.refused(), f"RECORD lists the {'source' if recorded else 'bytecode'}")
    assert answer["exit_code"] == 5
    assert "engine.py" in json.dumps(answer["problems"])
    assert imported(scenario) == "1"
    if not recorded:
        scenario = stage.start(project, stage.image(project))
    else:
        scenario.container.exec("mv", "/kept.py", engine(scenario), check=True)
    case.control(scenario.applied(), "bytecode beside its source")
    assert imported(scenario) == "2"
