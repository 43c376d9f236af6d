"""Another file than the copied one is what Python imports: compiled twins, second copies, other places."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from tests.e2e.cases.seen import Case
from tests.e2e.scenario import LocalScenario, Scenario, Stage, codes, script
from tests.parts.images import ImageFactory

CONTAINER = pytest.mark.container
ORIGIN = (
    "import sys; from importlib.machinery import PathFinder;"
    "directory, name = sys.argv[1].rsplit('/', 1); print(PathFinder.find_spec(name, [directory]).origin)"
)
"""Which file a module of a package would be imported from; the package itself is not imported."""
SUFFIXES = "import importlib.machinery as m; print(*m.EXTENSION_SUFFIXES)"
TOP = "import sample_pkg; print(sample_pkg.__file__)"


def do(scenario: Scenario, text: str) -> None:
    scenario.container.exec("sh", "-ec", text, environment={"SITE": scenario.site}, user="0", check=True)


def origin(scenario: Scenario, module: str) -> str:
    path = f"{scenario.site}/sample_pkg/{module}"
    return scenario.container.exec("python3", "-c", ORIGIN, path, check=True).stdout.strip()


def messages(answer: Any) -> str:
    return json.dumps([problem["message"] for problem in answer["problems"]])


@CONTAINER
@pytest.mark.case("E07")
def test_a_compiled_twin(scenario: Scenario, case: Case) -> None:
    """Of an extension module and ``engine.py`` the import system takes the former."""
    scenario.edit_generation()
    suffixes = scenario.python(SUFFIXES).split()
    assert len(suffixes) >= 3
    for suffix in suffixes:
        do(scenario, f"cp $SITE/sample_pkg/_queue*.so $SITE/sample_pkg/engine{suffix}")
        assert origin(scenario, "engine").endswith(f"engine{suffix}")  # the trap
        answer = scenario.refused()
        assert answer["exit_code"] == 3
        assert "compiled-twin" in codes(answer)
        assert f"engine{suffix}" in messages(answer)
        do(scenario, f"rm $SITE/sample_pkg/engine{suffix}")
    case.trap(answer, "the same for every suffix of the interpreter")
    do(scenario, "cp $SITE/sample_pkg/_queue*.so $SITE/sample_pkg/engine.cpython-27.so")
    assert origin(scenario, "engine").endswith("engine.py")
    case.control(scenario.applied(), "beside an extension of another Python, which this one never looks at")
    assert scenario.answer() == "generation 2: 1.0"


@CONTAINER
@pytest.mark.case("E07")
@pytest.mark.parametrize("change", ["add", "remove", "compiled only", "package"])
def test_relatives_of_a_compiled_twin(scenario: Scenario, case: Case, change: str) -> None:
    """A new or a removed module, one that was only shipped compiled, and a compiled package of its name."""
    module = {"add": "models/new", "remove": "models/tiny", "package": "layers/norm"}.get(change, "engine")
    twin = f"$SITE/sample_pkg/{module}" + ("/__init__.abi3.so" if change == "package" else ".abi3.so")
    source = f"$SITE/sample_pkg/{module}.py"
    if change == "add":
        scenario.project.write("sample_pkg/models/new.py", "NEW = True\n")
    elif change == "remove":
        (scenario.project.path / "sample_pkg/models/tiny.py").unlink()
    else:
        path = scenario.project.path / f"sample_pkg/{module}.py"
        path.write_text(path.read_text() + "\nEDITED = True\n")
    if change == "package":
        do(scenario, f"mkdir $SITE/sample_pkg/{module}")
    do(scenario, f"cp $SITE/sample_pkg/_queue*.so {twin}")
    if change == "compiled only":
        record = f"{scenario.site}/sample_pkg-1.0.dist-info/RECORD"
        do(scenario, f"mv {source} /kept.py; mv {record} /RECORD")
        lines = scenario.container.exec("cat", "/RECORD", check=True).stdout
        scenario.container.write(record, lines.replace("sample_pkg/engine.py,", "sample_pkg/engine.abi3.so,"))
    assert origin(scenario, module).endswith(".abi3.so")  # the trap
    options = ["--image-commit", scenario.project.head] if change == "compiled only" else []
    answer = case.trap(scenario.refused(*options), change)
    assert answer["exit_code"] in (3, 5)
    assert "abi3.so" in messages(answer)
    do(scenario, f"rm -r {twin}")
    if change == "compiled only":
        do(scenario, f"mv /kept.py {source}; mv /RECORD {record}")
    if change == "package":
        do(scenario, f"rm -r $SITE/sample_pkg/{module}")
    case.control(scenario.applied())


@CONTAINER
@pytest.mark.case("E09")
def test_a_copy_in_the_users_own_site(stage: Stage, images: ImageFactory, case: Case) -> None:
    """``~/.local`` comes before the image's packages; where it is switched off, it does not matter."""
    project = stage.project()
    copy = script(
        "user=/home/dev/.local/lib/${SITE#/usr/local/lib/}; mkdir -p $user;"
        "cp -r $SITE/sample_pkg $user/; chown -R 1000:1000 /home/dev"
    )
    tag = stage.image(project, image=images.system(), prepare=copy)
    scenario = stage.start(project, tag, user="dev", environment={"HOME": "/home/dev"})
    assert scenario.python(TOP).startswith("/home/dev/.local/lib")  # the trap
    scenario.edit_generation()
    answer = case.trap(scenario.refused("--user", "root"))
    assert (answer["exit_code"], codes(answer)) == (5, ["shadowed"])
    assert "/home/dev/.local/lib" in messages(answer)
    seen = answer["details"]["user_site"]
    assert seen["USER_SITE"].startswith("/home/dev/.local/lib")
    assert (seen["ENABLE_USER_SITE"], seen["PYTHONNOUSERSITE"]) == (True, None)
    without = {"HOME": "/home/dev", "PYTHONNOUSERSITE": "1"}
    scenario = stage.start(project, tag, user="dev", environment=without)
    case.control(scenario.applied("--user", "root"), "with PYTHONNOUSERSITE, which the manifest records")
    assert scenario.answer() == "generation 2: 1.0"
    shown = scenario.cli("-C", scenario.project.path, "manifest", "show", "--json").json()
    interpreter = shown["details"]["manifest"]["interpreter"]
    assert interpreter["user_site"].startswith("/home/dev/.local/lib")
    assert (interpreter["user_site_enabled"], interpreter["no_user_site"]) == (False, "1")


@CONTAINER
@pytest.mark.case("E09")
def test_an_installed_copy_in_the_users_own_site(stage: Stage, images: ImageFactory, case: Case) -> None:
    """``pip install --user``: with a dist-info of its own, and another version."""
    project = stage.project()
    copy = script(
        "user=/home/dev/.local/lib/${SITE#/usr/local/lib/}; mkdir -p $user; cp -r $SITE/sample_pkg $user/;"
        "cp -r $SITE/sample_pkg-1.0.dist-info $user/sample_pkg-2.0.dist-info"
    )
    tag = stage.image(project, image=images.system(), prepare=copy)
    scenario = stage.start(project, tag, user="dev", environment={"HOME": "/home/dev"})
    assert scenario.python(TOP).startswith("/home/dev/.local/lib")
    scenario.edit_generation()
    answer = case.trap(scenario.refused("--user", "root"), "both copies are listed, and which is imported")
    assert "duplicate-distribution" in codes(answer)
    assert "/home/dev/.local/lib" in answer["problems"][0]["message"].partition("what is imported is")[2]
    assert answer["details"]["distribution"] == "sample-pkg unknown"
    scenario = stage.start(project, tag, environment={"HOME": "/root"})
    case.control(scenario.applied(), "for a user who has none")


SECOND_COPY = (
    "python3 -m venv --without-pip --system-site-packages PLACE;"
    "own=$(PLACE/bin/python -c \"import sysconfig; print(sysconfig.get_path('purelib'))\");"
    "cp -r $SITE/sample_pkg $own/; cp -r $SITE/sample_pkg-1.0.dist-info $own/sample_pkg-2.0.dist-info"
)


@CONTAINER
@pytest.mark.case("E10")
@pytest.mark.parametrize("place", ["/opt/env", "/srv/app/v", "/work/v"])
def test_a_virtual_environment_with_a_copy_of_its_own(
    stage: Stage, images: ImageFactory, case: Case, place: str
) -> None:
    """It sees the system's copy too, and imports its own; the environment need not be on PATH."""
    prepare = script(SECOND_COPY.replace("PLACE", place))
    scenario = stage.set(image=images.system(), prepare=prepare, arguments=["--workdir=/work"])
    python = f"{place}/bin/python"
    own = scenario.container.exec(python, "-c", TOP, check=True).stdout
    assert own.startswith(place)  # the trap: of two copies, the environment imports its own
    scenario.edit_generation()
    answer = scenario.refused()
    assert (answer["exit_code"], codes(answer)) == (7, ["several-interpreters"])
    for copy in (
        f"{scenario.site}/sample_pkg-1.0.dist-info",
        "/sample_pkg-2.0.dist-info",
        f"imports {place}/",
    ):
        assert copy in messages(answer)
    answer = scenario.refused("--interpreter", python)
    assert "duplicate-distribution" in codes(answer)
    copies, _, imported = messages(answer).partition("what is imported is")
    assert f"{scenario.site}/sample_pkg-1.0.dist-info" in copies
    assert f"{place}/lib" in imported
    case.trap(answer, "all copies are listed, and which of them is imported")
    do(scenario, f"rm -r {place}/lib/python*/site-packages/sample_pkg-2.0.dist-info")
    answer = case.trap(scenario.refused("--interpreter", python), "a copy without metadata of its own")
    assert "shadowed" in codes(answer)
    do(scenario, f"rm -r {place}/lib/python*/site-packages/sample_pkg")
    case.control(
        scenario.applied("--interpreter", python), "an environment that sees the system's copy alone"
    )
    ran = scenario.container.exec(python, "-c", "import sample_pkg as s; print(s.answer())", check=True)
    assert ran.stdout == "generation 2: 1.0\n"


VERSION = "import importlib.metadata as m; print(m.version('sample-pkg'))"


@CONTAINER
@pytest.mark.case("E15")
def test_two_dist_infos(scenario: Scenario, case: Case) -> None:
    """The version says one thing, the code another."""
    scenario.edit_generation()
    second = f"{scenario.site}/sample_pkg-0.9.dist-info"
    do(scenario, f"cp -a $SITE/sample_pkg-1.0.dist-info {second}")
    do(
        scenario,
        f'python3 -c "import sys; p = sys.argv[1]; t = open(p).read();'
        f" open(p, 'w').write(t.replace('Version: 1.0', 'Version: 0.9'))\" {second}/METADATA",
    )
    assert scenario.python(VERSION) in ("0.9", "1.0")  # whichever the directory lists first
    answer = case.trap(scenario.refused(), "the version is unknown, both are listed")
    assert (answer["exit_code"], codes(answer)) == (5, ["duplicate-distribution"])
    for version in ("0.9", "1.0"):
        assert f"sample_pkg-{version}.dist-info" in messages(answer)
    assert answer["details"]["distribution"] == "sample-pkg unknown"
    verified = scenario.ask("verify")
    assert "duplicate-distribution" in codes(verified)
    assert verified["details"]["distribution"] == "sample-pkg unknown"
    do(scenario, f"rm -r {second}")
    answer = case.control(scenario.applied(), "one dist-info")
    assert answer["details"]["distribution"] == "sample-pkg 1.0"


@pytest.mark.case("E15")
@pytest.mark.parametrize("name", ["Sample.Pkg-1.0.dist-info", "sample_pkg-0.9-py3.11.egg-info"])
def test_a_second_copy_under_another_spelling(local: LocalScenario, case: Case, name: str) -> None:
    second = local.environment.site_packages / name
    if name.endswith("egg-info"):
        second.write_text("Name: sample-pkg\nVersion: 0.9\n")
    else:
        second.mkdir()
        (second / "METADATA").write_text("Name: Sample.Pkg\nVersion: 1.0\n")
    listed = local.python("import importlib.metadata as m; print(len(list(m.distributions())))")
    local.edit_generation()
    answer = case.trap(local.refused(), f"the second is {name.rpartition('.')[2]} of another spelling")
    assert "duplicate-distribution" in codes(answer)
    assert name in messages(answer)
    if second.is_file():
        second.unlink()
    else:
        shutil.rmtree(second)
    assert int(local.python("import importlib.metadata as m; print(len(list(m.distributions())))")) < int(
        listed
    )
    case.control(local.applied())


@CONTAINER
@pytest.mark.case("E19")
def test_a_package_that_no_interpreter_looks_for(stage: Stage, images: ImageFactory, case: Case) -> None:
    """Debian's Python reads dist-packages; what lies in site-packages is not installed for it."""
    image = images.dist_packages()
    version = stage.containers.run(image).python("import sys; print('python%d.%d' % sys.version_info[:2])")
    place = f"/usr/local/lib/{version}/site-packages"
    project = stage.project()
    tag = stage.image(project, image=image, install=(f"--target={place}",))
    scenario = stage.start(project, tag)
    listed = scenario.container.exec("ls", place, check=True).stdout
    assert "sample_pkg\n" in listed  # the trap: it is there, and no Python imports it
    assert scenario.container.exec("python3", "-c", "import sample_pkg").returncode == 1
    scenario.edit_generation()
    answer = case.trap(scenario.refused(), "the place is told")
    assert (answer["exit_code"], codes(answer)) == (7, ["not-installed"])
    assert f"{place}/sample_pkg-1.0.dist-info" in messages(answer)
    scenario = stage.start(project, tag, environment={"PYTHONPATH": place})
    answer = case.control(scenario.applied(), "on the workload's PYTHONPATH it is where Python looks")
    assert answer["details"]["install_root"] == place
    assert scenario.answer() == "generation 2: 1.0"
