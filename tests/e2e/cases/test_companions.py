"""What the compiled parts were built to fit, and what somebody did to it in the container."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.e2e.cases.seen import Case
from tests.e2e.scenario import LocalScenario, Scenario, Stage, codes, set_locally
from tests.parts.command_line import CommandLine
from tests.parts.wheels import write_wheel

CONTAINER = pytest.mark.container
BUILD = {"requires": ["libbase>=1.0"]}
LIBRARY = {"libbase/__init__.py": b"", "libbase/lib/libbase.so.1": b"built against ABI 1\n"}
OTHER_LIBRARY = {**LIBRARY, "libbase/lib/libbase.so.1": b"built against ABI 2\n"}
READ_LIBRARY = (
    "import libbase, importlib.metadata as m, pathlib;"
    "print(m.version('libbase'), pathlib.Path(libbase.__file__).with_name('lib').joinpath("
    "'libbase.so.1').read_text().split()[-1])"
)
WHEELS = "/wheels"


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """libbase as the image has it, a newer one, and another build of the same version."""
    write_wheel(tmp_path / "companions" / "image", "libbase", "1.0", LIBRARY)
    write_wheel(tmp_path / "companions" / "newer", "libbase", "1.1", OTHER_LIBRARY)
    write_wheel(tmp_path / "companions" / "rebuilt", "libbase", "1.0", OTHER_LIBRARY)
    write_wheel(tmp_path / "companions" / "unrelated", "unrelated", "1.0", {"unrelated.py": b""})
    return tmp_path / "companions"


def with_libbase(stage: Stage, wheels: Path) -> Scenario:
    """A container of an image that holds the project and the libbase that it requires."""
    project = stage.project()
    image = stage.images.installed(stage.images.venv(), *(wheels / "image").iterdir())
    tag = stage.image(project, image=image, build=BUILD)
    return stage.start(project, tag, mounts=mounted(wheels))


def mounted(wheels: Path) -> list[str]:
    pip = find_spec("pip")
    assert pip is not None and pip.submodule_search_locations
    return [f"{wheels}:{WHEELS}:ro", f"{pip.submodule_search_locations[0]}:/mnt/pip:ro"]


def image_of(scenario: Scenario) -> str:
    return str(scenario.container.inspect()["Image"])


def install(scenario: Scenario, wheels: Path, kind: str) -> None:
    """What people do in a running container: pip install."""
    [wheel] = (wheels / kind).iterdir()
    command = "python3 /mnt/pip install --quiet --no-index --no-deps --no-cache-dir --force-reinstall"
    options = ["--root-user-action=ignore", f"{WHEELS}/{kind}/{wheel.name}"]
    scenario.container.exec(*command.split(), *options, check=True)


def overwrite(scenario: Scenario) -> None:
    """The library alone, with the times that it has elsewhere; pip's records say nothing of it."""
    place = f"{scenario.site}/libbase/lib/libbase.so.1"
    scenario.container.write(place, "built against ABI 2\n")
    scenario.container.exec("touch", "-d", "2020-01-01", place, check=True)


@CONTAINER
@pytest.mark.case("N04")
@pytest.mark.parametrize(
    ("kind", "runs"), [("newer", "1.1 2"), ("rebuilt", "1.0 2"), ("overwritten", "1.0 2")]
)
def test_a_requirement_was_replaced_before_the_first_push(
    stage: Stage, wheels: Path, case: Case, kind: str, runs: str
) -> None:
    scenario = with_libbase(stage, wheels)
    assert scenario.python(READ_LIBRARY) == "1.0 1"
    if kind == "overwritten":
        overwrite(scenario)
    else:
        install(scenario, wheels, kind)
    assert scenario.python(READ_LIBRARY) == runs
    scenario.edit_generation()
    answer = case.trap(scenario.refused(), f"libbase {kind} in place")
    assert (answer["exit_code"], codes(answer)) == (5, ["environment-changed"])
    [problem] = answer["problems"]
    assert "libbase" in problem["message"]
    assert "rebuild the image" in problem["next_step"]
    assert codes(scenario.ask("verify")) == ["environment-changed"]

    answer = scenario.push("--acknowledge", "environment")
    assert (answer["outcome"], answer["details"]["acknowledged"]) == ("applied", {"environment": ["libbase"]})
    scenario.edit_generation(3)
    scenario.applied()  # it is as at the last push

    clean = stage.start(scenario.project, image_of(scenario), mounts=mounted(wheels))
    install(clean, wheels, "unrelated")
    case.control(clean.applied(), "only an unrelated project was installed")


@CONTAINER
@pytest.mark.case("N04")
def test_the_distribution_itself_was_installed_anew(stage: Stage, wheels: Path, case: Case) -> None:
    """Another build with the same Python: the label speaks for the image's build only."""
    scenario = with_libbase(stage, wheels)
    extension = scenario.container.exec(
        "sh", "-c", f"ls {scenario.site}/sample_pkg/_queue*.so"
    ).stdout.strip()
    name = Path(extension).name
    files = scenario.project.committed_package()
    files[f"sample_pkg/{name}"] = b"another build\n"
    write_wheel(wheels / "again", "sample-pkg", "1.0", files, requires=BUILD["requires"])
    install(scenario, wheels, "again")
    assert scenario.container.exec("cat", extension).stdout == "another build\n"
    scenario.edit_generation()
    answer = case.trap(scenario.refused(), "another build of the distribution, with HEAD's Python")
    assert (answer["exit_code"], codes(answer)) == (4, ["no-image-commit"])
    assert "installed after the container was made" in answer["problems"][0]["message"]
    answer = scenario.applied("--image-commit", scenario.project.head)
    case.control(answer, "the commit of what is installed was given")


@CONTAINER
@pytest.mark.case("N04")
def test_an_owner_changed_throughout_is_no_other_environment(stage: Stage, wheels: Path, case: Case) -> None:
    """Entry points do that; what is really installed afterwards is noticed all the same."""
    scenario = with_libbase(stage, wheels)
    scenario.container.exec("chown", "-R", "1000:1000", scenario.site, check=True)
    scenario.edit_generation()
    answer = case.control(scenario.applied(), "all files belong to somebody else since")
    assert "touched after the container was made" in str(answer["details"]["companions"])
    scenario.ask("revert")
    install(scenario, wheels, "rebuilt")
    assert scenario.python(READ_LIBRARY) == "1.0 2"
    answer = case.trap(scenario.refused(), "the same, and another build of libbase")
    assert codes(answer) == ["environment-changed"]


def install_locally(local: LocalScenario, files: Mapping[str, bytes], version: str, directory: Path) -> None:
    local.environment.install(write_wheel(directory, "libbase", version, files))


@pytest.mark.case("N04")
def test_a_requirement_was_replaced_after_a_push(cli: CommandLine, tmp_path: Path, case: Case) -> None:
    """No engine tells when an environment of this machine was made; the last push is what is known."""
    local = set_locally(cli, tmp_path, build=BUILD)
    install_locally(local, LIBRARY, "1.0", tmp_path / "first")
    local.edit_generation()
    local.applied()
    install_locally(local, OTHER_LIBRARY, "1.0", tmp_path / "second")
    assert local.python(READ_LIBRARY) == "1.0 2"
    local.edit_generation(3)
    answer = case.trap(local.refused(), "another build of the same version")
    assert (answer["exit_code"], codes(answer)) == (5, ["environment-changed"])
    assert "another build" in answer["problems"][0]["message"]
    assert local.push("--acknowledge", "environment")["outcome"] == "applied"
    local.edit_generation(4)
    case.control(local.applied(), "as at the last push")


@pytest.mark.case("N10")
def test_companions_are_recorded_by_themselves(cli: CommandLine, tmp_path: Path, case: Case) -> None:
    local = set_locally(cli, tmp_path, build={"requires": ["libbase==1.0"]})
    add_on = write_wheel(tmp_path / "addon", "sample-pkg-cubin", "0.9", {"sample_pkg_cubin.py": b""})
    local.environment.install(add_on)
    install_locally(local, LIBRARY, "1.0", tmp_path / "first")
    local.edit_generation()
    answer = case.control(local.applied(), "each companion is a row of the manifest")
    assert answer["details"]["unmet"] == []
    shown = local.cli("-C", local.project.path, "manifest", "show", "--json").json()
    rows = {row["name"]: row for row in shown["details"]["manifest"]["companions"]}
    assert {name: (row["version"], row["required"]) for name, row in rows.items()} == {
        "libbase": ("1.0", True),
        "sample-pkg": ("1.0", True),
        "sample-pkg-cubin": ("0.9", False),
    }
    assert all(len(row["record_sha256"]) == 64 for row in rows.values())

    shutil.rmtree(local.environment.site_packages / "libbase-1.0.dist-info")
    install_locally(local, OTHER_LIBRARY, "1.1", tmp_path / "second")
    local.edit_generation(3)
    answer = case.trap(local.refused(), "a required companion was replaced, against its pin")
    assert codes(answer) == ["environment-changed"]
    assert answer["details"]["unmet"] == ["libbase==1.0 is required, 1.1 is installed"]


@pytest.mark.case("N10")
def test_a_companion_that_is_only_named_after_the_distribution(
    local: LocalScenario, tmp_path: Path, case: Case
) -> None:
    files = {"sample_pkg_cubin.py": b"KERNELS = 1\n"}
    local.environment.install(write_wheel(tmp_path / "first", "sample-pkg-cubin", "0.9", files))
    local.edit_generation()
    local.applied()
    files = {"sample_pkg_cubin.py": b"KERNELS = 2\n"}
    local.environment.install(write_wheel(tmp_path / "second", "sample-pkg-cubin", "0.9", files))
    local.edit_generation(3)
    answer = case.trap(local.applied(), "nothing requires it; that it is another build is told")
    [note] = answer["details"]["companions"]
    assert "sample-pkg-cubin" in note
    assert "another build" in note
    local.edit_generation(4)
    assert case.control(local.applied())["details"]["companions"] == []


LOCKS = {
    "uv.lock": '[[package]]\nname = "companion"\nversion = "VERSION"\n',
    "pylock.toml": '[[packages]]\nname = "companion"\nversion = "VERSION"\n',
    "Pipfile.lock": '{"default": {"companion": {"version": "VERSION"}}}\n',
}


@pytest.mark.case("N10")
@pytest.mark.parametrize("name", LOCKS)
def test_a_changed_lock_file(local: LocalScenario, case: Case, name: str) -> None:
    """No wheel's build reads it: the pins that changed are told, and nothing is refused."""
    local.project.write(name, LOCKS[name].replace("VERSION", "1.0"))
    local.options = ["--image-commit", local.project.commit("Lock file")]
    local.edit_generation()
    answer = case.control(local.applied(), f"{name} as at HEAD")
    assert answer["details"]["notes"] == []
    local.project.write(name, LOCKS[name].replace("VERSION", "1.1"))
    local.edit_generation(3)
    answer = case.trap(local.applied(), f"{name} is read by no wheel's build; the changed pin is told")
    [note] = answer["details"]["notes"]
    assert "companion 1.0 -> 1.1" in note


PINS = {
    "pyproject.toml": ("dependencies = []", 'dependencies = ["companion==1.1"]'),
    "requirements.txt": ("companion==1.0", "companion==1.1"),
    "requirements/cuda.txt": ("companion==1.0", "companion==1.1"),
    "requirements.in": ("companion==1.0", "companion==1.1"),
    "constraints.txt": ("companion==1.0", "companion==1.1"),
    "setup.cfg": ("companion==1.0", "companion==1.1"),
    "setup.py": ("companion==1.0", "companion==1.1"),
    "Pipfile": ("==1.0", "==1.1"),
    "environment.yml": ("companion==1.0", "companion==1.1"),
}
"""Kinds of files that pin companions, and the change of a pin in each."""

TEXTS = {
    "setup.cfg": "[options]\ninstall_requires =\n    companion==1.0\n",
    "setup.py": "from setuptools import setup\n\nsetup(install_requires=['companion==1.0'])\n",
    "Pipfile": '[packages]\ncompanion = "==1.0"\n',
    "environment.yml": "dependencies:\n  - pip:\n    - companion==1.0\n",
}


@pytest.mark.case("N10")
@pytest.mark.parametrize("name", PINS)
def test_a_changed_pin(local: LocalScenario, case: Case, name: str) -> None:
    old, new = PINS[name]
    if name != "pyproject.toml":
        local.project.write(name, TEXTS.get(name, "companion==1.0\n"))
        local.options = ["--image-commit", local.project.commit("Pins")]
    text = (local.project.path / name).read_text()
    assert text.count(old) == 1
    local.edit_generation()
    local.project.write(name, text.replace(old, new))
    answer = case.trap(local.refused(), f"the pin in {name}")
    assert (answer["exit_code"], codes(answer)) == (3, ["requirement-change"])
    what = "added" if name == "pyproject.toml" else "pin changed"
    assert f"dependency {what}" in answer["problems"][0]["message"]
    assert "companion" in answer["problems"][0]["message"]
    local.project.write(name, f"{text}\n# a comment\n")
    case.control(local.applied(), f"a comment in {name}")
