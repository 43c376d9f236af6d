"""Editable installs: the package is imported from a source tree in the target, by a map of names."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.cases.seen import Case
from tests.e2e.scenario import LocalScenario, Scenario, Stage, changed, codes, local_tree
from tests.parts.containers import Container

CONTAINER = pytest.mark.container

TREE = "/opt/src/pk/src"
WHERE = "import sample_pkg; print(sample_pkg.__file__)"
FINDER = """
import sys
from importlib.util import spec_from_file_location
from pathlib import Path

MAPPING = {mapping!r}


class Finder:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        name, _, rest = fullname.partition(".")
        if name not in MAPPING:
            return None
        place = Path(MAPPING[name], *filter(None, rest.split(".")))
        for candidate in (place / "__init__.py", place.with_suffix(".py")):
            if candidate.exists():
                return spec_from_file_location(fullname, candidate)
        return None


def install():
    sys.meta_path.append(Finder)
"""
"""As setuptools writes it: a map that was made at installation, asked after all other finders."""
EDITABLE = '{"url": "file:///opt/src/pk", "dir_info": {"editable": true}}'


def make_editable(style: str, name: str = "sample_pkg") -> Callable[[Container], object]:
    """Turns the installed wheel into an editable install: by a finder, or by a path in a ``.pth``."""

    def run(container: Container) -> None:
        site = container.python("import sysconfig; print(sysconfig.get_path('purelib'))")
        move = f"mkdir -p {TREE}; mv {site}/sample_pkg {TREE}/{name}"
        container.exec("sh", "-ec", move, check=True)
        metadata = f"{site}/sample_pkg-1.0.dist-info"
        files = {"__editable__.sample_pkg-1.0.pth": f"{TREE}\n"}
        if style == "finder":
            module = "__editable___sample_pkg_1_0_finder"
            hook = f"import {module}; {module}.install()\n"
            mapping = {"sample_pkg": f"{TREE}/{name}"}
            files = {
                "__editable__.sample_pkg-1.0.pth": hook,
                f"{module}.py": FINDER.format(mapping=mapping),
            }
        for file, text in files.items():
            container.write(f"{site}/{file}", text)
        listed = "".join(f"{file},,\n" for file in files)
        container.write(f"{metadata}/RECORD", f"{listed}sample_pkg-1.0.dist-info/METADATA,,\n")
        container.write(f"{metadata}/direct_url.json", EDITABLE)
        container.write(f"{metadata}/top_level.txt", "sample_pkg\n")

    return run


def editable(stage: Stage, style: str = "finder", name: str = "sample_pkg") -> tuple[Scenario, str]:
    """A container with an editable install that started in ``/``, and its image."""
    project = stage.project("src")
    tag = stage.image(project, prepare=make_editable(style, name))
    scenario = stage.start(project, tag, arguments=["--workdir=/"])
    assert scenario.python(WHERE) == f"{TREE}/{name}/__init__.py"
    return scenario, tag


@CONTAINER
@pytest.mark.case("E12")
def test_an_empty_directory_hides_an_editable_install(stage: Stage, case: Case) -> None:
    """The finder is asked last: a directory of the name where it runs is a namespace before it."""
    outside, tag = editable(stage)
    scenario = stage.start(outside.project, tag, arguments=["--workdir=/tmp/x"])
    scenario.container.exec("mkdir", "/tmp/x/sample_pkg", check=True)
    assert scenario.container.exec("python3", "-c", WHERE, check=True).stdout == "None\n"  # the trap
    scenario.edit_generation()
    answer = case.trap(scenario.refused(), "a namespace without a file is no import")
    assert (answer["exit_code"], codes(answer)) == (5, ["not-importable"])
    assert "only a namespace package is found (/tmp/x/sample_pkg)" in json.dumps(answer["problems"])
    status = scenario.ask("status")
    assert (status["exit_code"], codes(status)) == (1, ["not-importable"])
    case.control(outside.applied(), "started elsewhere")
    assert outside.answer() == "generation 2: 1.0"


@CONTAINER
@pytest.mark.case("E12")
def test_an_empty_directory_hides_no_installed_package(stage: Stage, case: Case) -> None:
    """A regular package comes before a namespace, but not where its ``__init__`` is gone."""
    scenario = stage.set(arguments=["--workdir=/tmp/x"])
    scenario.container.exec("mkdir", "/tmp/x/sample_pkg", check=True)
    init = f"{scenario.site}/sample_pkg/__init__.py"
    scenario.edit_generation()
    scenario.container.exec("mv", init, "/kept.py", check=True)
    assert scenario.container.exec("python3", "-c", WHERE, check=True).stdout == "None\n"
    answer = case.trap(scenario.refused(), "an installed package without its __init__")
    assert "not-importable" in codes(answer)
    scenario.container.exec("mv", "/kept.py", init, check=True)
    case.control(scenario.applied(), "an installed package, with an empty directory before it")


@CONTAINER
@pytest.mark.case("E13")
@pytest.mark.parametrize("style", ["finder", "path"])
def test_new_names_of_an_editable_install(stage: Stage, case: Case, style: str) -> None:
    scenario, _ = editable(stage, style)
    before = scenario.container.tree(TREE, times=True)
    if style == "finder":
        scenario.container.write(f"{TREE}/toplevel_new.py", "NEW = 1\n")
        missing = scenario.container.exec("python3", "-c", "import toplevel_new")
        assert "No module named 'toplevel_new'" in missing.stderr  # the trap: it is there, and not found
        scenario.container.exec("rm", f"{TREE}/toplevel_new.py", check=True)
    new = [("src/toplevel_new.py", "toplevel_new"), ("src/newpkg/__init__.py", "newpkg")]
    for path, name in new:
        written = scenario.project.write(path, "NEW = 1\n")
        answer = scenario.refused()
        assert (answer["exit_code"], codes(answer)) == (5, ["editable-install"])
        [problem] = answer["problems"]
        assert (problem["path"], f"new top-level name, {name}," in problem["message"]) == (path, True)
        assert f"sample_pkg ({TREE}/sample_pkg)" in problem["message"]
        assert "reinstall" in problem["next_step"]
        written.unlink()
    case.trap(answer, f"{style}: it needs a reinstall, and the mapped names are listed")

    scenario.project.write("src/sample_pkg/newsub/__init__.py", "NEW = 1\n")
    scenario.project.write("src/sample_pkg/newsub/part.py", "PART = 2\n")
    scenario.project.write("tools/another.py", "print('beside the sources, of no package')\n")
    scenario.edit_generation()
    answer = case.control(scenario.applied(), f"{style}: an edit, and a new package below a mapped name")
    assert answer["details"]["install_root"] == TREE
    assert scenario.answer() == "generation 2: 1.0"
    assert scenario.python("from sample_pkg.newsub import part; print(part.PART)") == "2"
    assert scenario.ask("verify")["problems"] == []
    assert scenario.ask("revert")["outcome"] == "applied"
    after = scenario.container.tree(TREE, times=True)
    left = {name for name in changed(before, after) if "__pycache__" not in name}
    assert {name for name in left if not (after.get(name) and after[name].mode & 0o040000)} == set()


@CONTAINER
@pytest.mark.case("E13")
def test_an_editable_install_that_cannot_be_told(stage: Stage, case: Case) -> None:
    """Originals are proven here too; and a tree that is not mapped by its names is not understood."""
    scenario, _ = editable(stage)
    place = f"{TREE}/sample_pkg/engine.py"
    kept = scenario.container.exec("cat", place, check=True).stdout
    scenario.container.write(place, "# somebody at work\n" + kept)
    scenario.edit_generation()
    answer = case.trap(scenario.refused(), "a source tree with an edit of its own")
    assert answer["exit_code"] in (4, 5)
    scenario.container.write(place, kept)
    case.control(scenario.applied(), "a source tree of HEAD")
    other = stage.start(
        scenario.project,
        stage.image(scenario.project, prepare=make_editable("finder", "other_name")),
        arguments=["--workdir=/"],
    )
    answer = case.trap(other.refused(), "a name that is mapped to a directory of another name")
    assert (answer["exit_code"], codes(answer)) == (5, ["editable-install"])
    assert f"sample_pkg to {TREE}/other_name" in answer["problems"][0]["message"]


@CONTAINER
@pytest.mark.case("E13")
def test_a_source_tree_that_is_not_the_targets_own(stage: Stage, case: Case, tmp_path: Path) -> None:
    """A mounted checkout is somebody's files on the host: what is copied there would be written to them."""
    scenario, tag = editable(stage)
    checkout = tmp_path / "checkout"
    shutil.copytree(scenario.project.path / "src", checkout)
    evidence = ["--image-commit", scenario.project.head]
    mounted = stage.start(scenario.project, tag, mounts=[f"{checkout}:{TREE}"], arguments=["--workdir=/"])
    before = local_tree(checkout)
    assert mounted.python(WHERE) == f"{TREE}/sample_pkg/__init__.py"
    shutil.rmtree(checkout / "sample_pkg" / "__pycache__", ignore_errors=True)
    scenario.edit_generation()
    answer = case.trap(mounted.push(*evidence), "the source tree is mounted")
    assert (answer["exit_code"], "mount" in codes(answer)) == (5, True)
    assert (checkout / "sample_pkg/engine.py").read_text().count("GENERATION = 1") == 1
    assert before.keys() - local_tree(checkout).keys() == set()
    case.control(scenario.applied(*evidence), "the image's own source tree")


@pytest.mark.case("E13")
def test_an_editable_install_of_the_worktree_itself(local: LocalScenario, case: Case) -> None:
    """On one machine it is the usual one: edits are there already, and the worktree is never written to."""
    site = local.environment.site_packages
    control = case.control(local.push("--dry-run"), "the installed wheel")
    assert control["problems"] == []
    shutil.rmtree(site / "sample_pkg")
    (site / "__editable__.sample_pkg-1.0.pth").write_text(f"{local.project.path}\n")
    metadata = site / "sample_pkg-1.0.dist-info"
    (metadata / "RECORD").write_text("__editable__.sample_pkg-1.0.pth,,\n")
    (metadata / "direct_url.json").write_text(EDITABLE)
    (metadata / "top_level.txt").write_text("sample_pkg\n")
    assert local.python(WHERE) == str(local.project.path / "sample_pkg/__init__.py")
    local.edit_generation()
    before = local_tree(local.project.path / "sample_pkg")
    answer = case.trap(local.refused(), "of the worktree itself")
    assert "editable-install" in codes(answer)
    assert "this very worktree" in json.dumps(answer["problems"])
    assert local_tree(local.project.path / "sample_pkg") == before
