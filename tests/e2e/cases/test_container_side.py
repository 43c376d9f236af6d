"""Containers in which copying works and nothing can be proven, or the other way round."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.cases.seen import Case
from tests.e2e.scenario import Scenario, Stage, codes, script
from tests.parts.images import ImageFactory

CONTAINER = pytest.mark.container
NEW_CODE = "generation 2: 1.0"


PLACE = "/srv/one/two/three/four/unusual"
MOVED = script(f"mkdir -p {PLACE} && cp -a /opt/venv/. {PLACE} && rm -r /opt/venv")
"""The environment, where nobody looks for one."""
UNUSUAL = f"{PLACE}/bin/python3"
NOWHERE = {"PATH": "/nowhere"}


@CONTAINER
@pytest.mark.case("D05")
def test_a_paused_container(scenario: Scenario, case: Case) -> None:
    scenario.edit_generation()
    scenario.container.pause()
    answer = case.trap(scenario.push())
    scenario.container.unpause()
    assert (answer["exit_code"], codes(answer)) == (7, ["target-paused"])
    assert scenario.answer() == "generation 1: 1.0"
    case.control(scenario.applied(), "unpaused, the new code runs")
    assert scenario.answer() == NEW_CODE


@CONTAINER
@pytest.mark.case("D03")
def test_a_read_only_root(stage: Stage, case: Case) -> None:
    scenario = stage.set(read_only=True)
    assert scenario.container.exec("touch", f"{scenario.site}/here").returncode != 0
    scenario.edit_generation()
    status = scenario.ask("status")
    assert [item["source"] for item in status["operations"]] == ["sample_pkg/engine.py"]
    answer = case.trap(scenario.refused())
    assert (answer["exit_code"], codes(answer)) == (5, ["not-writable"])
    assert "read-only" in answer["problems"][0]["message"]
    assert "writable root" in answer["problems"][0]["next_step"]
    tag = str(scenario.container.inspect()["Image"])
    case.control(stage.start(scenario.project, tag).applied(), "the same image, with a writable root")


@CONTAINER
@pytest.mark.case("D03")
def test_a_writable_volume_below_a_read_only_root(stage: Stage, case: Case) -> None:
    """It could be written; but it is a mount, and the image's own files are behind it."""
    project = stage.project()
    tag = stage.image(project)
    site = stage.start(project, tag).site
    scenario = stage.start(project, tag, read_only=True, mounts=[f"{site}/sample_pkg"])
    scenario.container.exec("touch", f"{site}/sample_pkg/here", check=True)
    scenario.container.exec("rm", f"{site}/sample_pkg/here", check=True)
    scenario.edit_generation()
    answer = case.trap(scenario.refused(), "a volume below the read-only root")
    assert (answer["exit_code"], "mount" in codes(answer)) == (5, True)
    scenario = stage.start(project, tag, arguments=["--tmpfs=/scratch"])
    case.control(scenario.applied(), "mounts elsewhere")


@CONTAINER
@pytest.mark.case("D06", "D14")
@pytest.mark.parametrize("locale", ["POSIX", "C.UTF-8"])
def test_no_shell_and_any_locale(stage: Stage, images: ImageFactory, case: Case, locale: str) -> None:
    utf8 = "0" if locale == "POSIX" else "1"  # the image has no data of locales
    forced = {"LC_ALL": locale, "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": utf8}
    scenario = stage.set(image=images.no_shell(), environment=forced)
    with pytest.raises(RuntimeError):
        scenario.container.exec("sh", "-c", "true", check=True)
    encoding = scenario.python("import sys; print(sys.getfilesystemencoding())")
    assert encoding == ("ascii" if locale == "POSIX" else "utf-8")
    before = scenario.files()
    scenario.project.write("sample_pkg/data/ü.json", "{}\n")
    scenario.project.write("sample_pkg/layers/größe.py", "SIZE = 2\n")
    scenario.edit_generation()
    applied = scenario.applied()
    assert len(applied["operations"]) == 3
    assert scenario.answer() == NEW_CODE
    (case.trap if locale == "POSIX" else case.control)(applied, f"no shell, {encoding}")
    assert scenario.ask("revert")["outcome"] == "applied"
    assert scenario.files() == before
    plain = stage.start(scenario.project, stage.image(scenario.project))
    (case.control if locale == "POSIX" else case.trap)(plain.applied(), "a shell, the image's own locale")


@CONTAINER
@pytest.mark.case("D06")
def test_a_python_that_is_not_on_the_path(stage: Stage, case: Case) -> None:
    project = stage.project()
    tag = stage.image(project)
    scenario = stage.start(project, tag, environment=NOWHERE, interpreter="/opt/venv/bin/python3")
    assert scenario.container.exec("python3", "-V").returncode != 0
    scenario.edit_generation()
    case.trap(scenario.applied(), "found at its usual place")
    tag = stage.images.derived(tag, MOVED)
    scenario = stage.start(project, tag, environment=NOWHERE, interpreter=UNUSUAL)
    answer = case.trap(scenario.push(), "at an unusual place")
    assert answer["exit_code"] == 7
    assert "--interpreter" in answer["problems"][0]["next_step"]
    case.control(scenario.applied("--interpreter", UNUSUAL), "the interpreter is named")


@CONTAINER
@pytest.mark.case("D09")
def test_a_linked_package_directory(stage: Stage, case: Case) -> None:
    project = stage.project()
    tag = stage.image(project)
    scenario = stage.start(project, tag)
    scenario.edit_generation()
    case.control(scenario.ask("push", "--dry-run"))
    linked = script("mkdir /cache && mv $SITE/sample_pkg /cache/ && ln -s /cache/sample_pkg $SITE/")
    scenario = stage.start(project, stage.images.derived(tag, linked))
    answer = case.trap(scenario.refused(), "the package")
    assert (answer["exit_code"], codes(answer)) == (5, ["link", "shadowed"])
    assert "sample_pkg" in answer["problems"][0]["message"]
    inner = script("mv $SITE/sample_pkg/layers /cache && ln -s /cache $SITE/sample_pkg/layers")
    scenario = stage.start(project, stage.images.derived(tag, inner))
    scenario.project.edit("layers/norm.py", "/ 8", "/ 4")
    answer = case.trap(scenario.refused(), "a directory in it")
    assert (answer["exit_code"], "link" in codes(answer)) == (5, True)


@CONTAINER
@pytest.mark.case("D08", "D09")
def test_a_linked_file_and_hard_links(scenario: Scenario, case: Case) -> None:
    """uv links files from its cache: a symbolic link is refused, of hard links only ours gets new content."""
    place = f"{scenario.site}/sample_pkg/engine.py"
    scenario.container.exec("mv", place, "/kept.py", check=True)
    scenario.container.exec("ln", "-s", "/kept.py", place, check=True)
    scenario.edit_generation()
    answer = case.trap(scenario.refused(), "a symbolic link")
    assert (answer["exit_code"], "link" in codes(answer)) == (5, True)
    scenario.container.exec("rm", place, check=True)
    scenario.container.exec("ln", "/kept.py", place, check=True)
    answer = case.trap(scenario.applied(), "hard links: the other names are told")
    assert "hard link" in str(answer["details"]["notes"])
    assert "GENERATION = 1" in scenario.container.exec("cat", "/kept.py").stdout
    assert scenario.answer() == NEW_CODE
    scenario.container.exec("rm", "/kept.py", check=True)
    scenario.edit_generation(3)
    answer = case.control(scenario.applied(), "one name: nothing to tell")
    assert "hard link" not in str(answer["details"]["notes"])


@CONTAINER
@pytest.mark.case("D08")
def test_another_name_in_the_package_itself(stage: Stage, case: Case) -> None:
    """It is imported under its other name, and stays old: that name is told."""
    twice = script("ln $SITE/sample_pkg/layers/norm.py $SITE/sample_pkg/layers/again.py")
    scenario = stage.set(prepare=twice)
    scenario.project.edit("layers/norm.py", "/ 8", "/ 4")
    answer = case.trap(scenario.applied(), "the other names are told")
    assert "hard link" in str(answer["details"]["notes"])
    assert scenario.python("from sample_pkg.layers import again; print(again.normalise(8))") == "1.0"
    case.control(stage.start(scenario.project, stage.image(scenario.project)).applied())


@CONTAINER
@pytest.mark.case("D11")
def test_a_file_that_is_a_mount(stage: Stage, tmp_path: Path, case: Case) -> None:
    project = stage.project()
    tag = stage.image(project)
    site = stage.start(project, tag).site
    mounted = tmp_path / "engine.py"
    mounted.write_bytes((project.path / "sample_pkg/engine.py").read_bytes())
    scenario = stage.start(project, tag, mounts=[f"{mounted}:{site}/sample_pkg/engine.py"])
    scenario.edit_generation()
    replacement = tmp_path / "replacement.py"
    replacement.write_bytes((project.path / "sample_pkg/engine.py").read_bytes())
    replacement.rename(mounted)  # as an editor saves: the container keeps the old file
    assert scenario.answer() == "generation 1: 1.0"
    answer = case.trap(scenario.refused())
    assert (answer["exit_code"], "mount" in codes(answer)) == (5, True)
    assert f"{site}/sample_pkg/engine.py" in str(answer["problems"])
    case.control(stage.start(project, tag).applied(), "the same image without the mount")


@CONTAINER
@pytest.mark.case("D12")
def test_the_entry_point_chooses_the_python(stage: Stage, case: Case) -> None:
    """An entry point puts an environment on PATH that no ``exec`` sees; the workload runs from it."""
    plain = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    project = stage.project()
    tag = stage.image(project, prepare=MOVED)
    code = "import sample_pkg, time; open('/tmp/up', 'w'); time.sleep(600)"
    entry = ["sh", "-c", f'export PATH={PLACE}/bin:$PATH; exec python3 -c "{code}"']
    scenario = stage.start(project, tag, environment=plain, interpreter=UNUSUAL, command=entry)
    assert scenario.container.exec("python3", "-c", "import sample_pkg").returncode != 0
    scenario.edit_generation()
    answer = case.trap(scenario.refused(), "the workload's own interpreter is found, and in use")
    assert (answer["exit_code"], codes(answer)) == (6, ["workload"])
    assert answer["target"]["interpreter"] == UNUSUAL
    scenario = stage.start(project, tag, environment=plain, interpreter=UNUSUAL)
    answer = case.trap(scenario.refused(), "nothing runs that would tell")
    assert answer["exit_code"] == 7
    assert "/usr/local/bin/python3" in str(answer["problems"])
    case.control(scenario.applied("--interpreter", UNUSUAL), "the interpreter is named")
