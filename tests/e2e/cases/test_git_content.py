"""Checkouts that are not what they seem: line ends, pointers, odd names, submodules, letter case."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import pytest

from tests.e2e.cases.seen import Case
from tests.e2e.scenario import LocalScenario, Scenario, Work, check_manners, codes
from tests.parts.repositories import Repository

ODD_NAMES = ("two words", "-rf", "'\"$(id)", "ü ✓", "a\\b", os.fsdecode(b"caf\xe9"))
ODD = tuple(f"sample_pkg/data/{name}.json" for name in ODD_NAMES)
MODULES = ("sample_pkg/café.py", "sample_pkg/größe/__init__.py")
NEWLINE, NOT_UTF8 = "sample_pkg/data/two\nlines.json", os.fsdecode(b"sample_pkg/models/caf\xe9.py")
ESCAPE, LINES = "sample_pkg/data/\x1b[31mred.json", "sample_pkg/two\nlines.py"
SHOWN = {
    NEWLINE: "two\\nlines.json",
    NOT_UTF8: "caf\\udce9.py",
    ESCAPE: "\\x1b[31mred.json",
    LINES: "two\\nlines.py",
}


def commit(local: LocalScenario, message: str = "Change") -> None:
    """A commit that is the image's too: nothing that ships has changed."""
    local.options = ["--image-commit", local.project.commit(message)]


# W05


@pytest.mark.case("W05")
@pytest.mark.parametrize("how", ["core.autocrlf", "eol=crlf"])
def test_line_ends_that_git_converts(local: LocalScenario, case: Case, how: str) -> None:
    project = local.project
    if how == "core.autocrlf":
        project.git("config", "core.autocrlf", "true")
    else:
        project.write(".gitattributes", "*.py text eol=crlf\n")
        commit(local)
    for path in (project.path / "sample_pkg").rglob("*.py"):
        path.unlink()
    project.git("checkout", "--", ".")
    engine = project.path / "sample_pkg/engine.py"
    blob = project.git("rev-parse", "HEAD:sample_pkg/engine.py")
    assert b"\r\n" in engine.read_bytes()
    assert project.git("status", "--porcelain") == ""
    assert project.git("hash-object", "sample_pkg/engine.py") == blob
    assert project.git("hash-object", "--no-filters", "sample_pkg/engine.py") != blob
    answer = case.trap(local.push(), "every file has CRLF on disk: nothing has changed")
    assert (answer["outcome"], answer["operations"], answer["problems"]) == ("unchanged", [], [])

    text = engine.read_bytes().replace(b"GENERATION = 1", b"GENERATION = 2")
    engine.write_bytes(text)
    local.applied()
    installed = (local.environment.site_packages / "sample_pkg/engine.py").read_bytes()
    assert installed == text.replace(b"\r\n", b"\n")
    case.trap(local.ask("status"), "an edit of such a file was installed with LF, as HEAD has it")
    assert local.push()["outcome"] == "unchanged"
    engine.write_bytes(installed)
    case.control(local.push(), "the same with LF on disk")
    assert local.answer() == "generation 2: 1.0"


# W07

DATA = b"VALUE = 1\n" * 30
POINTER = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:" + hashlib.sha256(DATA).hexdigest().encode() + b"\nsize " + str(len(DATA)).encode() + b"\n"
)


def install(local: LocalScenario, name: str, content: bytes) -> None:
    """The package with a pointer as a blob, built where ``content`` stood in its place."""
    local.project.write(f"sample_pkg/{name}", POINTER)
    commit(local, "Weights")
    generated = {name: content.decode(), "_version.py": '__version__ = "1.0"\n'}
    local.environment.install(
        local.project.build_wheel(local.project.path.parent / "wheels", generated=generated)
    )


@pytest.mark.case("W07")
@pytest.mark.parametrize(
    ("kept", "installed", "name"),
    [
        ("weights.py", DATA, "sample_pkg/weights.py"),
        ("weights.py", DATA, "sample_pkg/new.py"),
        ("data/weights.json", DATA, "sample_pkg/layers/norm.py"),
        ("data/weights.json", POINTER, "sample_pkg/data/weights.json"),
    ],
)
def test_a_pointer_of_git_lfs(
    local: LocalScenario, case: Case, kept: str, installed: bytes, name: str
) -> None:
    """``kept`` by Git LFS at HEAD; ``name`` is a pointer that was changed in the worktree."""
    install(local, kept, installed)
    place = local.environment.site_packages / "sample_pkg" / kept
    assert place.read_bytes() == installed
    local.edit_generation()
    other = POINTER.replace(b"size 300", b"size 301")
    assert other != POINTER
    path = local.project.write(name, other)
    answer = case.trap(local.refused(), "a pointer in the worktree, by its form and without any attribute")
    assert answer["exit_code"] == 3
    assert [item["path"] for item in answer["problems"] if item["code"] == "lfs-pointer"] == [name]

    path.unlink()
    local.project.git("checkout", "--", f"sample_pkg/{kept}", "sample_pkg/layers")
    answer = local.applied()
    notes = [note for note in answer["details"]["notes"] if "pointer" in note]
    if installed == POINTER:
        assert notes == [f"sample_pkg/{kept}: a Git LFS pointer, the image lacks its data"]
        case.trap(answer, "a pointer in the image: told")
    else:
        assert notes == []
        case.control(answer, "the pointer unchanged, the image with the data that it names")
    assert place.read_bytes() == installed
    local.project.write(f"sample_pkg/{kept}", DATA)  # what git lfs pull puts there
    answer = case.control(local.push(), "the data in the place of its pointer: nothing to do")
    assert answer["outcome"] == "unchanged"


# W10


def odd_names(work: Work, case: Case) -> None:
    """Names with what a shell or a terminal would stumble over travel, and come back in manifests."""
    project = work.project
    before = work.files()
    for name in (*ODD, *MODULES):
        project.write(name, "{}\n")
    assert "\\303" in project.git("status", "--porcelain")  # git's own listing is quoted
    work.edit_generation()
    answer = case.trap(work.applied(), "names with spaces, quotes, other letters and other bytes: installed")
    assert {item["source"] for item in answer["operations"]} == {*ODD, *MODULES, "sample_pkg/engine.py"}
    assert {name for name in work.files() if name not in before and ".pyc" not in name} == {*ODD, *MODULES}
    assert (
        work.python("import importlib as i; print(i.import_module('sample_pkg.café').__name__ != '')")
        == "True"
    )
    assert work.push()["outcome"] == "unchanged"
    assert work.ask("verify")["exit_code"] == 0
    for command in (("list",), ("show",), ("diff", "latest", "latest")):
        check_manners(work.cli("-C", project.path, "manifest", *command))
    assert work.ask("revert")["outcome"] == "applied"
    assert work.files() == before
    for name in (*ODD, *MODULES):
        (project.path / name).unlink()
    case.control(work.applied(), "plain names")


@pytest.mark.case("W10")
def test_odd_names(local: LocalScenario, case: Case) -> None:
    odd_names(local, case)


@pytest.mark.case("W10")
@pytest.mark.container
def test_odd_names_into_a_container(scenario: Scenario, case: Case) -> None:
    odd_names(scenario, case)


@pytest.mark.case("W10")
@pytest.mark.parametrize("name", SHOWN)
def test_names_that_no_wheel_holds(local: LocalScenario, case: Case, name: str) -> None:
    local.edit_generation()
    path = local.project.path / name
    path.write_text("")
    answer = case.trap(local.refused(), "a name with a control character, or of a module and not UTF-8")
    assert (answer["exit_code"], codes(answer)) == (3, ["unsafe-name"])
    assert answer["problems"][0]["path"] == name
    assert SHOWN[name] in local("push").stdout
    path.rename(local.project.path / "tests" / path.name)  # where nothing ships, any name will do
    case.control(local.applied(), "the same names where nothing ships")


@pytest.mark.case("W10")
def test_a_python_file_that_cannot_be_imported(local: LocalScenario, case: Case) -> None:
    """A name with a space is no module; the file ships as data does, and is read back as such."""
    local.project.write("sample_pkg/sp ace.py", "NEW = True\n")
    answer = case.trap(
        local.applied(), "a Python file that no import names: copied, and read back by its bytes"
    )
    assert [item["source"] for item in answer["operations"]] == ["sample_pkg/sp ace.py"]
    assert "sample_pkg/sp ace.py" in local.files()
    local.edit_generation()
    case.control(local.applied(), "plain names")


@pytest.mark.parametrize("name", ["sample_pkg/sub/a.py:b", "sample_pkg/CON.py"])
def test_names_that_only_some_systems_take(local: LocalScenario, name: str) -> None:
    local.project.write(name, "NEW = True\n")
    local.edit_generation()
    answer = local.push()
    assert answer["exit_code"] in (0, 3)
    assert answer["exit_code"] == 0 or answer["problems"][0]["path"] == name


# W11


def vendor(local: LocalScenario, place: str) -> Repository:
    """A submodule of the project, which has it committed."""
    library = Repository(local.project.path.parent / "library")
    library.write("lib.py", "LIB = 1\n")
    library.commit()
    allowed = ("-c", "protocol.file.allow=always")
    local.project.git(*allowed, "submodule", "--quiet", "add", str(library.path), place)
    commit(local, "Vendor")
    return Repository(local.project.path / place)


@pytest.mark.case("W11")
@pytest.mark.parametrize(
    ("place", "state"),
    [
        ("sample_pkg/vend", "dirty"),
        ("sample_pkg/vend", "hidden"),
        ("sample_pkg/vend", "behind"),
        ("third_party/vend", "new file"),
        ("third_party/vend", "behind and staged"),
    ],
)
def test_a_submodule(local: LocalScenario, case: Case, place: str, state: str) -> None:
    module = vendor(local, place)
    local.edit_generation()
    case.control(local.applied(), "a clean submodule")
    gitlink = module.head
    if state.startswith("behind"):
        module.write("lib.py", "LIB = 2\n")
        module.commit()
        if "staged" in state:
            local.project.git("add", place)
        else:
            assert local.project.git("diff", "--name-only", "HEAD", "--", place) == place
    else:
        module.write("new.py" if state == "new file" else "lib.py", "LIB = 2\n")
        if state == "hidden":
            module.git("update-index", "--assume-unchanged", "lib.py")
            assert local.project.git("status", "--porcelain", "--", place) == ""
    local.edit_generation(3)
    answer = case.trap(local.refused(), "dirty, or at another commit: gitlink and HEAD of it are both told")
    assert (answer["exit_code"], codes(answer)) == (3, ["submodule-change"])
    [problem] = answer["problems"]
    assert problem["path"] == place
    assert f"gitlink {gitlink}, HEAD of the submodule {module.head}" in problem["message"]


@pytest.mark.case("W11")
def test_a_submodule_that_is_not_there(local: LocalScenario, case: Case) -> None:
    vendor(local, "sample_pkg/vend")
    local.project.git("submodule", "--quiet", "deinit", "--force", "sample_pkg/vend")
    local.edit_generation()
    case.control(local.applied(), "a submodule that is not checked out")
    (local.project.path / "sample_pkg/vend").rmdir()
    local.project.write("sample_pkg/vend/lib.py", "LIB = 1\n")
    local.edit_generation(3)
    assert local.project.git("status", "--porcelain", "--", "sample_pkg/vend") == ""
    answer = case.trap(local.refused(), "files in the place of a submodule, which git does not show")
    assert (answer["exit_code"], codes(answer)) == (3, ["submodule-change"])


# W16


def renamed(local: LocalScenario, before: str, after: str) -> None:
    (local.project.path / before).rename(local.project.path / after)


@pytest.mark.case("W16")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("sample_pkg/models/tiny.py", "sample_pkg/models/Tiny.py"),
        ("sample_pkg/models", "sample_pkg/Models"),
        ("sample_pkg/data/defaults.json", "sample_pkg/data/Defaults.json"),
    ],
)
def test_a_rename_of_letter_case(local: LocalScenario, case: Case, before: str, after: str) -> None:
    renamed(local, before, after)
    answer = case.trap(local.refused(), "a file, a directory or data, renamed")
    assert answer["exit_code"] == 3
    assert "case-collision" in codes(answer)
    renamed(local, after, before)
    local.edit_generation()
    case.control(local.applied(), "renamed back")


@pytest.mark.case("W16")
@pytest.mark.parametrize(
    ("name", "meets"),
    [
        ("sample_pkg/Engine.py", "a tracked file"),
        ("sample_pkg/_Version.py", "a generated file of the image"),
        ("sample_pkg/Models/new.py", "a directory of the image"),
        ("sample_pkg/STRASSE.py", "another new file"),
    ],
)
def test_a_new_file_that_meets_another(local: LocalScenario, case: Case, name: str, meets: str) -> None:
    if name.endswith("STRASSE.py"):
        local.project.write("sample_pkg/straße.py", "NEW = True\n")
    if "/Models/" in name:
        local.project.write("sample_pkg/Models/__init__.py", "")
    path = local.project.write(name, "NEW = True\n")
    answer: Any = case.trap(local.refused(), f"a new file, by letter case alone unlike {meets}")
    assert answer["exit_code"] == 3
    assert name in [item["path"] for item in answer["problems"] if item["code"] == "case-collision"]
    path.rename(local.project.path / "sample_pkg/other.py")
    if "/Models/" in name:
        (local.project.path / "sample_pkg/Models/__init__.py").unlink()
    case.control(local.applied(), "under another name")
