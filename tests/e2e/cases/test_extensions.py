"""Compiled parts: older than the Python that calls them, invisible, or in use."""

from __future__ import annotations

import mmap
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.cases.seen import Case
from tests.e2e.scenario import LocalScenario, Scenario, codes, set_locally
from tests.parts.command_line import CommandLine
from tests.parts.extensions import Extension, extension_of

VERSION = f"{sys.version_info[0]}{sys.version_info[1]}"
USE = "from sample_pkg import ops; print(ops.queue_of(1, 2).qsize())"


@pytest.fixture
def extension() -> Extension:
    return extension_of(sys.executable)


@pytest.fixture
def compiled(cli: CommandLine, tmp_path: Path, extension: Extension) -> LocalScenario:
    """The plain case, with a compiled part."""
    return set_locally(cli, tmp_path, build={"extension": extension})


NEW_OPERATOR = """\


def newest(queue):
    return queue.brand_new_op()
"""


def call_new_operator(local: LocalScenario) -> None:
    path = local.project.path / "sample_pkg" / "ops.py"
    path.write_text(path.read_text() + NEW_OPERATOR)


OTHER_HALVES = {
    "csrc/kernel.c": ("return heads * 2", "return heads * 3", "native-change"),
    "csrc/new_op.cu": (None, "__global__ void new_op() {}\n", "native-change"),
    "CMakeLists.txt": (None, "add_library(_queue csrc/new_op.cu)\n", "build-change"),
    "setup.py": (None, "from setuptools import setup\n\nsetup(ext_modules=[1])\n", "build-change"),
    "sample_pkg/_kernels.pyx": (None, "def brand_new_op(): pass\n", "generator-input"),
}
"""What brings the operator into the extension: a file, its old and its new text."""


@pytest.mark.case("N02")
@pytest.mark.parametrize("name", OTHER_HALVES)
def test_python_and_native_code_changed_together(compiled: LocalScenario, case: Case, name: str) -> None:
    old, new, code = OTHER_HALVES[name]
    call_new_operator(compiled)
    path = compiled.project.path / name
    compiled.project.write(name, path.read_text().replace(old, new) if old else new)
    answer = case.trap(compiled.refused(), f"{name} changed as well")
    assert (answer["exit_code"], codes(answer)) == (3, [code])
    assert answer["problems"][0]["path"] == name

    if old:
        compiled.project.git("checkout", "--", name)
    else:
        path.unlink()
    case.control(compiled.applied(), "Python alone, which nothing shows to be a foreign call")
    # what the check cannot see, as docs/how-it-proves.md says: the operator is reached by an ordinary name
    imported = compiled.python("from sample_pkg import ops; print(callable(ops.newest))")
    assert imported == "True"
    call = "try: ops.newest(ops.queue_of())\nexcept AttributeError: print('fails')"
    assert compiled.python(f"from sample_pkg import ops\n{call}") == "fails"


@pytest.mark.case("N02")
@pytest.mark.parametrize("call", ["_C.brand_new_op()", "torch.ops.sample.brand_new_op()"])
def test_a_call_that_names_a_compiled_part(compiled: LocalScenario, case: Case, call: str) -> None:
    module = "torch" if call.startswith("torch") else "sample_pkg"
    name = "torch" if call.startswith("torch") else "_C"
    line = "import torch" if module == "torch" else "from sample_pkg import _C"
    compiled.project.write("sample_pkg/newest.py", f"def newest():\n    {line}\n\n    return {call}\n")
    answer = case.trap(compiled.refused(), f"Python alone, calling {call}")
    assert (answer["exit_code"], codes(answer)) == (3, ["binding-change"])
    assert name in answer["problems"][0]["message"]
    answer = compiled.push("--acknowledge", "binding")
    case.control(answer, "the image's extension is said to have it")
    assert answer["outcome"] == "applied"


FOREIGN = {
    f"_queue.cpython-3{sys.version_info[1] - 1}-x86_64-linux-gnu.so": "another minor version",
    f"_queue.cpython-{VERSION}-darwin.so": "another platform",
    f"_queue.cpython-{VERSION}d-x86_64-linux-gnu.so": "a debug build",
    f"_queue.cp{VERSION}-win_amd64.pyd": "Windows",
    "_queue.pypy39-pp73-x86_64-linux-gnu.so": "PyPy",
}


@pytest.mark.case("N13")
@pytest.mark.parametrize("name", FOREIGN)
def test_an_extension_of_another_interpreter(
    cli: CommandLine, tmp_path: Path, extension: Extension, case: Case, name: str
) -> None:
    build = {"extension": replace(extension, file_name=name)}
    local = set_locally(cli, tmp_path, build=build)
    failing = "try: from sample_pkg import ops\nexcept ModuleNotFoundError as error: print(error)"
    assert local.python(failing) == "No module named 'sample_pkg._queue'"
    local.edit_generation()
    answer = case.trap(local.refused(), f"the extension is of {FOREIGN[name]}")
    assert (answer["exit_code"], codes(answer)) == (5, ["extension-invisible"])
    [problem] = answer["problems"]
    assert problem["path"] == "sample_pkg/_queue"
    assert f"there is only {name}" in problem["message"]
    assert extension.file_name.removeprefix("_queue") in problem["message"]  # what it looks for
    for command in ("status", "verify"):
        answer = local.ask(command)
        assert (answer["exit_code"], codes(answer)) == (1, ["extension-invisible"])

    # both are there, as in an environment that two interpreters share
    place = local.environment.site_packages / "sample_pkg" / extension.file_name
    place.write_bytes(extension.content)
    assert local.python(USE) == "2"
    case.control(local.applied(), "one of this interpreter beside it")


@pytest.mark.parametrize("tag", [".abi3.so", ".so"])
def test_suffixes_that_are_seen(cli: CommandLine, tmp_path: Path, extension: Extension, tag: str) -> None:
    local = set_locally(cli, tmp_path, build={"extension": replace(extension, file_name=f"_queue{tag}")})
    assert local.python(USE) == "2"
    local.edit_generation()
    local.applied()


@pytest.mark.container
@pytest.mark.case("N13")
def test_a_missing_extension_and_what_is_near_it(scenario: Scenario, case: Case) -> None:
    """Renamed after installation: RECORD misses it, and what stands there is not found."""
    package = f"{scenario.site}/sample_pkg"
    [name] = [name for name in scenario.files() if name.endswith(".so")]
    foreign = "_queue.cpython-36m-x86_64-linux-gnu.so"
    scenario.container.exec("mv", f"{scenario.site}/{name}", f"{package}/{foreign}", check=True)
    scenario.edit_generation()
    answer = case.trap(scenario.refused(), "renamed after installation")
    assert codes(answer) == ["drift", "extension-invisible"]
    assert f"there is only {foreign}" in str(answer["problems"])
    scenario.container.exec("mv", f"{package}/{foreign}", f"{scenario.site}/{name}", check=True)
    case.control(scenario.applied(), "renamed back")


NATIVE = {
    "libfast.so": b"\x7fELF one",
    "libfast.so.1.2": b"\x7fELF one",
    "kernels.cubin": b"one",
    "bin/compiler": b"\x7fELF one",  # tracked under a name that says nothing
    "data/blob.bin": b"\x7fELF one",
}


@pytest.mark.case("N09")
@pytest.mark.parametrize("name", NATIVE)
def test_a_native_file_is_never_copied(cli: CommandLine, tmp_path: Path, case: Case, name: str) -> None:
    local = set_locally(cli, tmp_path)
    with_file(local, f"sample_pkg/{name}", NATIVE[name])
    local.edit_generation()
    local.project.write(f"sample_pkg/{name}", NATIVE[name].replace(b"one", b"two"))
    answer = case.trap(local.refused(), f"a compiled file of the package ({Path(name).name}) changed")
    assert (answer["exit_code"], codes(answer)) == (3, ["native-change"])
    local.project.write(f"sample_pkg/{name}", NATIVE[name])
    case.control(local.applied(), f"{Path(name).name} as at HEAD")


def with_file(local: LocalScenario, name: str, content: bytes) -> None:
    """HEAD, and the wheel that is installed, hold one more file."""
    local.project.write(name, content)
    local.project.git("add", "--force", "--", name)
    local.options = ["--image-commit", local.project.commit("One more file")]
    local.environment.install(local.project.build_wheel(local.project.path.parent / "again"))


@pytest.mark.case("N09")
def test_a_file_that_is_in_use(local: LocalScenario, case: Case) -> None:
    """A mapped file is refused; one whose content somebody else still holds keeps it whole."""
    place = local.environment.site_packages / "sample_pkg" / "engine.py"
    kept = local.environment.prefix / "kept.py"
    os.link(place, kept)
    local.edit_generation()
    with place.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        answer = case.trap(local.refused(), "a process has the file mapped")
        assert (answer["exit_code"], codes(answer)) == (6, ["workload"])
        assert b"GENERATION = 1" in mapped[:]
    before = place.stat().st_ino
    case.control(local.applied(), "nobody has it mapped; another file takes its name, none is overwritten")
    assert place.stat().st_ino != before == kept.stat().st_ino
    assert "GENERATION = 1" in kept.read_text()
    assert local.answer() == "generation 2: 1.0"
