"""What stands in the way in the target: other copies, mounts, links, read-only roots. Exit code 5."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.scenario import REVISION, LocalScenario, Scenario, Stage, codes
from tests.parts.containers import Container
from tests.parts.images import ImageFactory

CONTAINER = pytest.mark.container
UNCHANGED = "generation 1: 1.0"


def script(text: str) -> Callable[[Container], object]:
    """What a shell does in a container of the image; ``$SITE`` is the install root."""

    def run(container: Container) -> None:
        site = container.python("import sysconfig; print(sysconfig.get_path('purelib'))")
        container.exec("sh", "-ec", text, environment={"SITE": site}, check=True)

    return run


@CONTAINER
def test_two_dist_infos(scenario: Scenario) -> None:
    """E15: the version says one thing, the code another."""
    scenario.edit_generation()
    second = f"{scenario.site}/sample_pkg-0.9.dist-info"
    scenario.container.exec("cp", "-a", f"{scenario.site}/sample_pkg-1.0.dist-info", second, check=True)
    answer = scenario.refused()
    assert (answer["exit_code"], codes(answer)) == (5, ["duplicate-distribution"])
    assert "sample_pkg-0.9.dist-info" in answer["problems"][0]["message"]
    scenario.container.exec("rm", "-r", second, check=True)
    scenario.applied()


@CONTAINER
def test_an_editable_install(stage: Stage) -> None:
    """The package is imported from a checkout in the container: there is no installed copy."""
    project = stage.project()
    tag = stage.image(project)

    make_editable = script(
        "mkdir -p /workspace && mv $SITE/sample_pkg /workspace/ && cd $SITE &&"
        "echo /workspace > __editable__.sample_pkg-1.0.pth && cd sample_pkg-1.0.dist-info &&"
        'echo \'{"url": "file:///workspace", "dir_info": {"editable": true}}\' > direct_url.json &&'
        "echo 'sample_pkg-1.0.dist-info/METADATA,,' > RECORD"
    )
    scenario = stage.start(project, stage.images.derived(tag, make_editable, labels={REVISION: project.head}))
    scenario.edit_generation()
    answer = scenario.refused()
    assert (answer["exit_code"], codes(answer)) == (5, ["editable-install"])
    assert "editable install" in answer["problems"][0]["message"]
    assert scenario.answer() == UNCHANGED


@CONTAINER
def test_a_copy_in_the_users_own_site(stage: Stage, images: ImageFactory) -> None:
    """E09: ``~/.local`` comes before the image's packages; where it is switched off, it does not matter."""
    project = stage.project()
    copy = script(
        "user=/home/dev/.local/lib/${SITE#/usr/local/lib/}; mkdir -p $user;"
        "cp -r $SITE/sample_pkg $user/; chown -R 1000:1000 /home/dev"
    )
    tag = stage.image(project, image=images.system(), prepare=copy)
    scenario = stage.start(project, tag, user="dev", environment={"HOME": "/home/dev"})
    scenario.edit_generation()
    answer = scenario.refused("--user", "root")
    assert (answer["exit_code"], codes(answer)) == (5, ["shadowed"])
    assert "/home/dev/.local/lib" in answer["problems"][0]["message"]
    without = {"HOME": "/home/dev", "PYTHONNOUSERSITE": "1"}
    scenario = stage.start(project, tag, user="dev", environment=without)
    scenario.applied("--user", "root")
    assert scenario.answer() == "generation 2: 1.0"


@CONTAINER
def test_a_source_tree_in_the_working_directory(stage: Stage) -> None:
    """N01: the workload would start beside a tree of the same name, which wins."""
    prepare = script("mkdir -p /repo/sample_pkg && touch /repo/sample_pkg/__init__.py")
    scenario = stage.set(prepare=prepare, arguments=["--workdir=/repo"])
    scenario.edit_generation()
    answer = scenario.refused()
    assert (answer["exit_code"], codes(answer)) == (5, ["shadowed"])
    [problem] = answer["problems"]
    assert "/repo/sample_pkg/__init__.py" in problem["message"]
    assert "working-directory" in problem["next_step"]
    scenario.project.write("overlaysync.toml", '[[package]]\nworking-directory = "/tmp"\n')
    scenario.applied()
    assert (
        scenario.container.exec(
            "python3", "-c", "import sample_pkg; print(sample_pkg.answer())", directory="/tmp"
        ).stdout
        == "generation 2: 1.0\n"
    )


@CONTAINER
def test_an_empty_directory_of_the_name_is_no_shadow(stage: Stage) -> None:
    """A directory without ``__init__.py`` loses against the installed package, wherever it comes."""
    scenario = stage.set(prepare=script("mkdir -p /repo/sample_pkg"), arguments=["--workdir=/repo"])
    scenario.edit_generation()
    scenario.applied()


@CONTAINER
def test_a_mount_over_the_package(stage: Stage, tmp_path: Path) -> None:
    """N05: the checkout mounted over the package hides its extensions; nothing is written through it."""
    project = stage.project()
    tag = stage.image(project)
    site = stage.start(project, tag).site
    mounted = project.path / "sample_pkg"
    scenario = stage.start(project, tag, mounts=[f"{mounted}:{site}/sample_pkg"])
    scenario.edit_generation()
    before = (mounted / "engine.py").stat().st_ctime_ns
    answer = scenario.refused()
    assert answer["exit_code"] == 5
    assert "mount" in codes(answer)
    assert f"{site}/sample_pkg is a mount point" in str(answer["problems"])
    assert (mounted / "engine.py").stat().st_ctime_ns == before
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    scenario = stage.start(project, tag, mounts=[f"{elsewhere}:{site}/unrelated"])
    scenario.applied()


@CONTAINER
def test_a_compiled_twin(scenario: Scenario) -> None:
    """E07: of ``engine.so`` and ``engine.py`` the import system takes the former."""
    twin = f"{scenario.site}/sample_pkg/engine.abi3.so"
    scenario.container.exec("sh", "-c", f"cp {scenario.site}/sample_pkg/_queue*.so {twin}", check=True)
    scenario.edit_generation()
    answer = scenario.refused()
    assert answer["exit_code"] == 3
    assert "compiled-twin" in codes(answer)
    assert "engine.abi3.so" in str(answer["problems"])
    scenario.container.exec("mv", twin, f"{scenario.site}/sample_pkg/engine.cpython-27.so", check=True)
    scenario.applied()  # which this interpreter never looks at
    assert scenario.answer() == "generation 2: 1.0"


@CONTAINER
def test_the_new_file_is_there_already(scenario: Scenario) -> None:
    place = f"{scenario.site}/sample_pkg/models/new.py"
    scenario.container.write(place, "OTHER = True\n")
    scenario.project.write("sample_pkg/models/new.py", "NEW = True\n")
    answer = scenario.refused()
    assert (answer["exit_code"], codes(answer)) == (5, ["destination-exists"])
    assert scenario.container.exec("cat", place).stdout == "OTHER = True\n"
    scenario.container.exec("rm", place, check=True)
    scenario.applied()


@CONTAINER
def test_a_file_of_the_package_is_missing(scenario: Scenario) -> None:
    scenario.edit_generation()
    scenario.container.exec("rm", f"{scenario.site}/sample_pkg/engine.py", check=True)
    answer = scenario.refused()
    assert answer["exit_code"] == 5
    assert set(codes(answer)) <= {"destination-missing", "original-differs", "shadowed", "not-importable"}


@CONTAINER
def test_a_package_that_no_interpreter_looks_for(stage: Stage, images: ImageFactory) -> None:
    """E19: Debian's Python reads dist-packages; what lies in site-packages is not installed for it."""
    place = "/usr/local/lib/python3.11/site-packages"
    scenario = stage.set(image=images.dist_packages(), install=(f"--target={place}",))
    scenario.edit_generation()
    answer = scenario.refused()
    assert (answer["exit_code"], codes(answer)) == (7, ["not-installed"])


@pytest.mark.parametrize("kind", ["dist-info", "link", "twin"])
def test_the_same_without_an_engine(local: LocalScenario, kind: str) -> None:
    site = local.environment.site_packages
    local.edit_generation()
    if kind == "dist-info":
        (site / "sample_pkg-0.9.dist-info").mkdir()
        obstacle, expected = site / "sample_pkg-0.9.dist-info", (5, "duplicate-distribution")
    elif kind == "link":
        (site / "sample_pkg").rename(site.parent / "moved")
        (site / "sample_pkg").symlink_to(site.parent / "moved")
        obstacle, expected = site / "sample_pkg", (5, "link")
    else:
        obstacle, expected = site / "sample_pkg" / "engine.abi3.so", (3, "compiled-twin")
        obstacle.touch()
    answer = local.refused()
    assert (answer["exit_code"], expected[1] in codes(answer)) == (expected[0], True), answer
    if kind == "dist-info":
        obstacle.rmdir()
    else:
        obstacle.unlink()
    if kind == "link":
        (site.parent / "moved").rename(site / "sample_pkg")
    local.applied()
