"""What of the repository is in the wheel, where, how often, and what an installer says of an overlay."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.cases.seen import Case
from tests.e2e.scenario import LocalScenario, Stage, codes
from tests.parts.wheels import write_wheel

CONTAINER = pytest.mark.container
SETUPTOOLS_SCM = 'requires = ["setuptools>=64", "setuptools-scm>=8"]'


def site(local: LocalScenario) -> Path:
    return local.environment.site_packages


def reinstall(local: LocalScenario, **build: object) -> None:
    """The environment holds the wheel of HEAD, and HEAD is what it was built from."""
    wheel = local.project.build_wheel(local.project.path.parent / "again", **build)  # type: ignore[arg-type]
    local.options = ["--image-commit", local.project.head]
    for path in sorted(site(local).rglob("*"), reverse=True):
        if path.relative_to(site(local)).parts[0].startswith("sample_pkg"):
            path.unlink() if not path.is_dir() or path.is_symlink() else path.rmdir()
    local.environment.install(wheel)


@pytest.mark.case("G05")
def test_data_that_the_image_lacks(local: LocalScenario, case: Case) -> None:
    """The backend was to take what git lists, git refused, and the build went on without it."""
    path = local.project.path / "pyproject.toml"
    path.write_text(path.read_text().replace('requires = ["setuptools>=64"]', SETUPTOOLS_SCM))
    local.project.commit("Data by setuptools-scm")
    reinstall(local)
    answer = case.control(local.ask("status"), "the image holds them")
    assert (answer["details"]["missing"], answer["details"]["absent"]) == ([], [])

    reinstall(local, without=["sample_pkg/data/*", "sample_pkg/py.typed"])
    assert not (site(local) / "sample_pkg" / "data").exists()
    answer = case.trap(local.ask("status"), "missing ones are told by name, with the reason")
    names = {text.partition(":")[0] for text in answer["details"]["missing"]}
    assert names == {"sample_pkg/data/defaults.json", "sample_pkg/py.typed"}
    assert "the backend ships all" in answer["details"]["missing"][0]
    assert answer["details"]["absent"] == []
    local.edit_generation()
    assert len(local.push()["details"]["missing"]) == 2
    shown = local("status")
    assert "missing:\n" in shown.stdout
    assert "sample_pkg/data/defaults.json" in shown.stdout


@pytest.mark.case("G05")
def test_absent_files_are_told_apart(local: LocalScenario, case: Case) -> None:
    """One of many is forgotten; all of a kind, and whole directories, are left out on purpose."""
    for name in ("data/one.json", "data/two.json", "notes.rst", "scripts/run.sh"):
        local.project.write(f"sample_pkg/{name}", f"{name}\n")
    local.project.commit("More files")
    reinstall(local, without=["*/one.json", "*.rst", "*.sh", "*/layers/norm.py"])
    answer = case.trap(local.ask("status"), "told apart: expected and missing, or not packaged")
    names = {text.partition(":")[0] for text in answer["details"]["missing"]}
    assert names == {"sample_pkg/data/one.json", "sample_pkg/layers/norm.py"}
    assert set(answer["details"]["absent"]) == {"sample_pkg/notes.rst", "sample_pkg/scripts/run.sh"}
    reinstall(local)
    answer = case.control(local.ask("status"), "all are installed")
    assert (answer["details"]["missing"], answer["details"]["absent"]) == ([], [])

    (site(local) / "sample_pkg" / "data" / "two.json").unlink()
    answer = local.ask("status")
    assert (answer["exit_code"], codes(answer)) == (1, ["drift"])
    assert "RECORD lists sample_pkg/data/two.json" in answer["details"]["missing"][0]


@pytest.mark.case("G07")
@pytest.mark.parametrize("directory", ["python/mypkg", "src/other/deep", "lib"])
def test_a_renamed_package(local: LocalScenario, case: Case, directory: str) -> None:
    """``package_dir``: the directory of the repository is called otherwise than the package."""
    (local.project.path / directory).parent.mkdir(parents=True, exist_ok=True)
    local.project.git("mv", "sample_pkg", directory)
    local.options = ["--image-commit", local.project.commit("Elsewhere")]
    assert not (local.project.path / "sample_pkg").exists()
    engine = local.project.path / directory / "engine.py"
    engine.write_text(engine.read_text().replace("GENERATION = 1", "GENERATION = 2"))
    local.project.write(f"{directory}/layers/drop.py", "RATE = 0.5\n")
    answer = case.control(local.applied(), "mapped by content and RECORD")
    assert {(item["source"], item["destination"]) for item in answer["operations"]} == {
        (f"{directory}/engine.py", f"{site(local)}/sample_pkg/engine.py"),
        (f"{directory}/layers/drop.py", f"{site(local)}/sample_pkg/layers/drop.py"),
    }
    assert local.answer() == "generation 2: 1.0"
    local.ask("revert")

    # a second directory of the same content: nothing tells which one the package is made of
    local.project.git("checkout", "--", ".")
    local.project.git("clean", "-fdq")
    other = f"{directory}_copy"
    shutil.copytree(local.project.path / directory, local.project.path / other)
    local.options = ["--image-commit", local.project.commit("Twice")]
    engine.write_text(engine.read_text().replace("GENERATION = 1", "GENERATION = 2"))
    answer = case.trap(local.refused(), "two directories have the content that is installed")
    assert (answer["exit_code"], codes(answer)) == (5, ["ambiguous-mapping"])
    assert f"{other}/engine.py" in answer["problems"][0]["message"]


@pytest.mark.case("G07")
def test_equal_files_are_told_apart_by_their_places(local: LocalScenario, case: Case) -> None:
    """Empty ``__init__.py`` files are all alike: the directories around them decide."""
    local.project.write("sample_pkg/models/__init__.py", "FIRST = True\n")
    answer = case.control(local.applied(), "an empty __init__.py among many goes to its own place")
    [operation] = answer["operations"]
    assert operation["destination"] == f"{site(local)}/sample_pkg/models/__init__.py"
    assert local.python("from sample_pkg import layers; print(hasattr(layers, 'FIRST'))") == "False"
    local.ask("revert")
    local.project.git("checkout", "--", ".")

    # the one that a namespace of copies makes doubtful
    for name in ("one", "two"):
        for path, content in local.project.committed_package().items():
            local.project.write(f"{name}/{path}", content)
    local.project.git("rm", "-rq", "sample_pkg")
    local.options = ["--image-commit", local.project.commit("Two candidates")]
    local.project.write("one/sample_pkg/models/__init__.py", "FIRST = True\n")
    answer = case.trap(local.refused(), "an empty __init__.py of which two could be the source")
    assert codes(answer) == ["ambiguous-mapping"]


@CONTAINER
@pytest.mark.case("G08")
def test_what_the_distribution_does_not_hold(stage: Stage, case: Case) -> None:
    """A tracked package that the wheel leaves out is never created."""
    scenario = stage.set(build={"without": ["sample_pkg/models/*"]})
    assert not any("models" in name for name in scenario.files())
    scenario.project.edit("models/tiny.py", "LAYERS = [", "LAYERS = [None, ")
    scenario.project.write("sample_pkg/models/new.py", "NEW = True\n")
    scenario.project.write("tools/release.py", "print('next release')\n")
    scenario.project.write("extra/m.py", "M = 1\n")
    before = scenario.traces()
    answer = case.trap(scenario.push(), "named as not packaged")
    assert (answer["outcome"], answer["exit_code"]) == ("unchanged", 0)
    unpackaged = {"sample_pkg/models/tiny.py", "sample_pkg/models/new.py", "tools/release.py", "extra/m.py"}
    assert set(answer["not_packaged"]) == unpackaged
    assert scenario.traces() == before
    assert "not packaged:" in scenario("push").stdout
    scenario.edit_generation()
    answer = case.control(scenario.applied(), "a file that ships, beside them")
    assert [item["source"] for item in answer["operations"]] == ["sample_pkg/engine.py"]


HOOKS = [
    "hook.pth",
    "sample_pkg/hook.pth",
    "sitecustomize.py",
    "sitecustomize/__init__.py",
    "usercustomize.py",
]


@pytest.mark.case("G10")
@pytest.mark.parametrize("name", HOOKS)
def test_a_start_up_hook(local: LocalScenario, case: Case, name: str) -> None:
    local.edit_generation()
    local.project.write(name, "import sample_pkg\n")
    answer = case.trap(local.refused(), f"a new {name}")
    assert (answer["exit_code"], codes(answer)) == (3, ["startup-hook"])
    assert answer["problems"][0]["path"] == name
    local.options = ["--image-commit", local.project.commit("A hook that the image does not have")]
    answer = local.ask("status")
    assert f"{name}: a start-up hook, which the image does not have" in answer["details"]["missing"]
    (local.project.path / name).write_text("import sample_pkg.engine\n")
    assert "startup-hook" in codes(local.refused())
    local.project.git("reset", "--quiet", "--hard", "HEAD~1")
    local.options = ["--image-commit", local.project.head]
    local.edit_generation()
    case.control(local.applied(), "no hook")


@pytest.mark.case("G10")
def test_active_hooks_are_recorded(local: LocalScenario, case: Case) -> None:
    local.edit_generation()
    answer = case.control(local.applied(), "no hook is active")
    assert recorded_hooks(local) == []
    (site(local) / "feature.pth").write_text("import os\n")
    (site(local) / "usercustomize.py").write_text("")
    local.edit_generation(3)
    answer = case.trap(local.applied(), "hooks that are active are recorded")
    hooks = recorded_hooks(local)
    assert "feature.pth" in hooks
    assert installed_hooks(answer["details"]) == installed_hooks(local.ask("verify")["details"]) == hooks


def recorded_hooks(local: LocalScenario) -> list[str]:
    shown = local.cli("-C", local.project.path, "manifest", "show", "--json").json()
    return installed_hooks(shown["details"]["manifest"])


def installed_hooks(document: dict[str, list[str]]) -> list[str]:
    """All but Debian's own, for crash reports, which is in every environment of its Python."""
    return [name for name in document["hooks"] if name != "sitecustomize"]


def link(local: LocalScenario, name: str, target: str) -> None:
    path = local.project.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def install_with_copies(local: LocalScenario, copies: dict[str, bytes]) -> None:
    """Wheels hold no links: what a build finds behind them is copied."""
    files = local.project.committed_package() | copies
    local.options = ["--image-commit", local.project.head]
    local.environment.install(write_wheel(local.project.path.parent / "copies", "sample-pkg", "1.0", files))


@pytest.mark.case("G11")
def test_a_link_in_git_is_a_copy_in_the_image(local: LocalScenario, case: Case) -> None:
    link(local, "sample_pkg/motor.py", "engine.py")
    link(local, "sample_pkg/alias", "layers")
    local.project.commit("Links")
    package = local.project.path / "sample_pkg"
    copies = {
        "sample_pkg/motor.py": (package / "engine.py").read_bytes(),
        "sample_pkg/alias/__init__.py": b"",
        "sample_pkg/alias/norm.py": (package / "layers/norm.py").read_bytes(),
        "sample_pkg/alias/attention.py": (package / "layers/attention.py").read_bytes(),
    }
    install_with_copies(local, copies)
    local.edit_generation()
    local.project.edit("layers/norm.py", "/ 8", "/ 4")
    local.project.write("sample_pkg/layers/drop.py", "RATE = 0.5\n")
    told = {
        "sample_pkg/layers/drop.py: added here only; copies of its directory: sample_pkg/alias",
        "sample_pkg/engine.py: the same content stays old in sample_pkg/motor.py",
        "sample_pkg/layers/norm.py: the same content stays old in sample_pkg/alias/norm.py",
    }
    assert told <= set(local.ask("status")["details"]["notes"])
    answer = case.trap(local.applied(), "the copies that stay old are named")
    assert told <= set(answer["details"]["notes"])
    assert {item["destination"].removeprefix(f"{site(local)}/") for item in answer["operations"]} == {
        "sample_pkg/engine.py",
        "sample_pkg/layers/drop.py",
        "sample_pkg/layers/norm.py",
    }
    generations = "from sample_pkg import engine, motor; print(engine.GENERATION, motor.GENERATION)"
    assert local.python(generations) == "2 1"
    for command in ("push", "status", "verify"):  # as long as it is so
        assert told <= set(local.ask(command)["details"]["notes"]), command
    local.edit_generation(3)
    assert told <= set(local.applied()["details"]["notes"])

    local.project.git("checkout", "--", ".")
    local.project.git("clean", "-fdq")
    local.project.edit("models/tiny.py", "LAYERS = [", "LAYERS = [None, ")
    answer = case.control(local.applied(), "a file without a copy")
    assert not any("stays old" in note for note in answer["details"]["notes"])


@pytest.mark.case("G11")
def test_a_link_out_of_the_package(local: LocalScenario, case: Case) -> None:
    """The real file is in no wheel; its copy is, under another name, so that nothing maps the one to it."""
    local.project.write("shared/tables.py", "TABLE = 'shared'\n")
    link(local, "sample_pkg/lookup.py", "../shared/tables.py")
    local.project.commit("A link out of the package")
    install_with_copies(local, {"sample_pkg/lookup.py": b"TABLE = 'shared'\n"})
    local.edit_generation()
    local.project.write("shared/tables.py", "TABLE = 'other'\n")
    answer = case.trap(local.applied(), "not packaged itself; its copy is named")
    assert answer["not_packaged"] == ["shared/tables.py"]
    note = "shared/tables.py: not packaged, but the same content stays old in sample_pkg/lookup.py"
    assert note in answer["details"]["notes"]
    local.project.git("checkout", "--", "shared")
    assert case.control(local.push(), "as at HEAD")["details"]["notes"] == []


@pytest.mark.case("G11")
@pytest.mark.parametrize("kind", ["new", "other target", "file instead"])
def test_a_changed_link(local: LocalScenario, case: Case, kind: str) -> None:
    link(local, "sample_pkg/motor.py", "engine.py")
    if kind != "new":
        local.project.commit("A link")
        install_with_copies(local, {"sample_pkg/motor.py": b"# a copy\n"})
        (local.project.path / "sample_pkg/motor.py").unlink()
    if kind == "other target":
        link(local, "sample_pkg/motor.py", "config.py")
    elif kind == "file instead":
        local.project.write("sample_pkg/motor.py", "V = 1\n")
    answer = case.trap(local.refused(), f"a link: {kind}")
    assert (answer["exit_code"], codes(answer)) == (3, ["link-change"])
    if kind == "new":
        (local.project.path / "sample_pkg/motor.py").unlink()
    local.project.git("checkout", "--", ".")
    local.edit_generation()
    case.control(local.applied(), "no link changed")


def pip(local: LocalScenario, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "--isolated", "--python", str(local.environment.executable)]
    return subprocess.run(
        [*command, "--disable-pip-version-check", *arguments], capture_output=True, text=True, check=False
    )


def left(local: LocalScenario) -> set[str]:
    """Files and directories below the install root that the installer left there."""
    return {path.name for path in site(local).iterdir()}


@pytest.mark.case("G13")
def test_an_installer_and_an_overlay(local: LocalScenario, case: Case) -> None:
    empty = left(local) - {"sample_pkg", "sample_pkg-1.0.dist-info"}
    record = site(local) / "sample_pkg-1.0.dist-info" / "RECORD"
    before, recorded = local.files(), record.read_bytes()
    local.edit_generation()
    local.project.write("sample_pkg/newmod.py", "NEW = True\n")
    local.project.write("sample_pkg/fresh/__init__.py", "FRESH = True\n")
    local.project.write("sample_pkg/fresh/deep/__init__.py", "")
    case.trap(local.applied(), "RECORD stays as it is; pip check sees nothing of the overlay")
    assert local.python("from sample_pkg import fresh, newmod; print(fresh.FRESH)") == "True"
    assert pip(local, "check").returncode == 0  # it sees nothing
    assert record.read_bytes() == recorded
    assert local.ask("verify")["exit_code"] == 0

    local.ask("revert")
    assert (local.files(), record.read_bytes()) == (before, recorded)
    assert not (site(local) / "sample_pkg" / "fresh").exists()
    assert pip(local, "uninstall", "--yes", "sample-pkg").returncode == 0
    assert left(local) == empty
    case.control(local.push(), "reverted and uninstalled: nothing of either is left")


@pytest.mark.case("G13")
def test_uninstalled_under_an_overlay(local: LocalScenario, tmp_path: Path, case: Case) -> None:
    """What it leaves is imported as a namespace package; it is refused, and told after a new installation."""
    wheel = local.project.build_wheel(tmp_path / "again")
    local.project.write("sample_pkg/newmod.py", "NEW = True\n")
    local.applied()
    assert pip(local, "uninstall", "--yes", "sample-pkg").returncode == 0
    assert local.python("import sample_pkg; print(sample_pkg.__file__)") == "None"
    assert (site(local) / "sample_pkg" / "newmod.py").exists()
    answer = case.trap(local.push(), "uninstalled under an overlay; what is left imports as a namespace")
    assert (answer["exit_code"], codes(answer)) == (7, ["not-installed"])

    local.environment.install(wheel)
    assert local.ask("verify")["exit_code"] in (0, 1)
    assert local.ask("revert")["outcome"] == "applied"
    assert not (site(local) / "sample_pkg" / "newmod.py").exists()
    case.control(local.applied(), "installed again, and reverted")
