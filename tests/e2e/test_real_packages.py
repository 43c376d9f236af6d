"""Real packages of the package index: one release in the container, the next one's Python as the change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.scenario import REVISION, site_of
from tests.parts.command_line import CommandLine
from tests.parts.containers import Container, ContainerFactory, Entry
from tests.parts.images import ImageFactory
from tests.parts.releases import Releases, wheel_files
from tests.parts.repositories import Repository

pytestmark = [pytest.mark.container, pytest.mark.network, pytest.mark.slow]

PYTHON_SUFFIXES = (".py", ".pyi", ".typed")

AIOHTTP, NEXT_AIOHTTP = "aiohttp==3.13.2", "aiohttp==3.13.3"
COMPILED_READER = "aiohttp/_websocket/reader_c.py"
"""Cython compiles it to the extension module of the same name: Python by name, but never imported."""

VERL, NEXT_VERL = "verl==0.6.1", "verl==0.7.0"
KERNELS = "verl/utils/kernel/kernels.py"
"""Triton kernels that differ between the two releases."""

BLACK = "black==25.11.0"
GENERATED = "_black_version.py"
"""In the source release and in the wheels, but ignored by git."""

SERVE_AND_ASK = """
import asyncio
import aiohttp
from aiohttp import http_parser, web

async def take(request):
    return web.Response(text=f"{len(await request.post())} fields")

async def main():
    application = web.Application(client_max_size=2**20)
    application.router.add_post("/", take)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0]
    for size in (1000, 600_000):
        form = aiohttp.FormData()
        for number in range(2):
            form.add_field(f"field{number}", b"x" * size, filename="data")
        async with aiohttp.ClientSession() as session:
            async with session.post(f"http://{host}:{port}/", data=form) as response:
                print(response.status, end=" ")
    await runner.cleanup()
    print(aiohttp.__version__, http_parser.HttpRequestParser.__module__)

asyncio.run(main())
"""
"""Two forms of two fields each; only 3.13.3 holds the sum of a form's fields against the limit."""

FIND_EACH = """
import importlib.machinery, json

def found(name):
    path = None
    for depth in range(1, name.count(".") + 2):
        spec = importlib.machinery.PathFinder.find_spec(".".join(name.split(".")[:depth]), path)
        if spec is None:
            return False
        path = spec.submodule_search_locations
    return True

print(json.dumps([found(name) for name in {!r}]))
"""
"""No parent package is imported: most of them need what is not installed."""


@dataclass
class Installed:
    """A release as a repository's only commit, and a container that holds its wheel."""

    repository: Repository
    container: Container
    site: str
    cli: CommandLine

    def __call__(self, command: str, *options: str) -> Any:
        """The answer of ``overlaysync COMMAND --json``; everything that it needs is found by itself."""
        target = ("--container", self.container.name)
        return self.cli("-C", self.repository.path, command, "--json", *target, *options).json()

    def change_to(self, files: Mapping[str, bytes], chosen: Callable[[str], bool]) -> list[str]:
        """The worktree gets the chosen paths as they are in ``files``; the sorted paths that changed."""
        tracked = self.repository.git("ls-files", "-z").split("\0")[:-1]
        for path in filter(chosen, set(tracked) - set(files)):
            (self.repository.path / path).unlink()
        for path in filter(chosen, files):
            self.repository.write(path, files[path])
        self.repository.git("add", "--all", "--intent-to-add")
        changed = self.repository.git("diff", "HEAD", "--name-only", "--no-renames", "-z")
        return sorted(changed.split("\0")[:-1])

    def tree(self) -> dict[str, Entry]:
        return self.container.tree(self.site, times=True)

    def digests(self) -> dict[str, str]:
        """SHA-256 of what is installed, without what installers, Python's caches and we ourselves add."""
        return {
            path: entry.content
            for path, entry in self.tree().items()
            if entry.content and not path.endswith(".pyc") and not path.startswith(".overlaysync")
            and ".dist-info/" not in path
        }  # fmt: skip

    def append(self, path: str) -> str:
        """One more line at the end of a tracked file; the new content's SHA-256."""
        content = (self.repository.path / path).read_bytes() + b"\nEDITED = True\n"
        self.repository.write(path, content)
        return hashlib.sha256(content).hexdigest()

    def finds(self, modules: Iterable[str]) -> set[bool]:
        """What the import system says of each: whether it finds the module, without importing it."""
        program = FIND_EACH.format(list(modules))
        return set(json.loads(self.container.python(program)))


@dataclass
class ReleaseStage:
    """Installs releases of the package index."""

    releases: Releases
    images: ImageFactory
    containers: ContainerFactory
    cli: CommandLine
    directory: Path

    def install(
        self, requirement: str, *, wheel: Path | None = None, dependencies: Sequence[Path] = ()
    ) -> Installed:
        """The source release committed, and the wheel in a container that names the commit by its label."""
        repository = Repository(self.directory / requirement)
        for path, content in self.releases.source(requirement).items():
            repository.write(path, content)
        label = {REVISION: repository.commit(requirement)}
        image = self.images.venv()
        if dependencies:
            image = self.images.installed(image, *dependencies)
        image = self.images.installed(image, wheel or self.releases.wheel(requirement), labels=label)
        container = self.containers.run(image)
        return Installed(repository, container, site_of(container), self.cli)


@pytest.fixture(scope="session")
def releases() -> Releases:
    """Downloads; made before a test's isolation, so that pip has the user's own configuration."""
    return Releases()


@pytest.fixture
def release_stage(
    releases: Releases, images: ImageFactory, containers: ContainerFactory, cli: CommandLine, tmp_path: Path
) -> ReleaseStage:
    return ReleaseStage(releases, images, containers, cli, tmp_path)


@pytest.fixture
def aiohttp(release_stage: ReleaseStage) -> Installed:
    return release_stage.install(AIOHTTP, dependencies=release_stage.releases.dependencies(AIOHTTP))


def test_the_python_of_the_next_release_runs_on_the_compiled_part_of_this_one(
    aiohttp: Installed, releases: Releases
) -> None:
    assert aiohttp.container.python(SERVE_AND_ASK) == "200 200 3.13.2 aiohttp._http_parser"
    before, files_before = aiohttp.tree(), aiohttp.digests()
    changed = aiohttp.change_to(releases.source(NEXT_AIOHTTP), is_overlayable_python)

    answer = aiohttp("push")

    assert (answer["outcome"], answer["problems"], answer["exit_code"]) == ("applied", [], 0)
    assert sorted(item["source"] for item in answer["operations"]) == changed
    assert len(changed) > 10
    this_release = digests(wheel_files(releases.wheel(AIOHTTP)))
    compiled = [path for path in this_release if path.endswith(".so")]
    assert confirmed(answer) == len(this_release) - len(compiled)
    next_release = digests(wheel_files(releases.wheel(NEXT_AIOHTTP)))
    assert aiohttp.digests() == files_before | {path: next_release[path] for path in changed}
    after, untouched = aiohttp.tree(), files_before.keys() - changed
    assert {path: after[path] for path in untouched} == {path: before[path] for path in untouched}
    assert untouched.issuperset(compiled)
    assert aiohttp.container.python(SERVE_AND_ASK) == "200 413 3.13.3 aiohttp._http_parser"


def test_the_native_part_of_the_next_release_is_refused_with_each_file_and_its_reason(
    aiohttp: Installed, releases: Releases
) -> None:
    before = aiohttp.tree()
    aiohttp.change_to(releases.source(NEXT_AIOHTTP), lambda path: path.startswith("aiohttp/"))

    answer = aiohttp("push")

    assert (answer["outcome"], answer["exit_code"]) == ("refused", 3)
    assert reasons(answer) == {
        "aiohttp/_http_parser.c": "native-change",
        "aiohttp/_http_parser.pyx": "generator-input",
        "aiohttp/_websocket/reader_c.c": "native-change",
        COMPILED_READER: "compiled-twin",
    }
    assert aiohttp.tree() == before


def test_a_pure_python_package_becomes_its_next_release_and_comes_back(
    release_stage: ReleaseStage, releases: Releases
) -> None:
    verl = release_stage.install(VERL)
    this_wheel, next_wheel = (wheel_files(releases.wheel(release)) for release in (VERL, NEXT_VERL))
    before, files_before = verl.tree(), verl.digests()
    assert files_before == digests(this_wheel)
    roots = {path.partition("/")[0] for path in this_wheel}
    changed = verl.change_to(releases.source(NEXT_VERL), lambda path: path.partition("/")[0] in roots)

    answer = verl("push")
    assert (answer["outcome"], answer["exit_code"]) == ("refused", 3)
    assert reasons(answer) == {KERNELS: "jit-change"}
    assert verl.tree() == before

    answer = verl("push", "--acknowledge", "jit")
    assert (answer["outcome"], answer["problems"], answer["exit_code"]) == ("applied", [], 0)
    assert sorted(item["source"] for item in answer["operations"]) == changed
    assert confirmed(answer) == len(this_wheel)
    assert verl.digests() == digests(next_wheel)
    added, removed = next_wheel.keys() - this_wheel.keys(), this_wheel.keys() - next_wheel.keys()
    assert {Path(path).suffix for path in added} == {".py", ".yaml"}
    new_packages = {path.rpartition("/")[0] for path in added if path.endswith("/__init__.py")}
    assert any(Path(path).parent.as_posix() in new_packages and "__init__" not in path for path in added)
    assert verl.finds(map(module_of, filter(is_module, added))) == {True}
    assert verl.finds(map(module_of, filter(is_module, removed))) == {False}

    assert verl("revert")["exit_code"] == 0
    assert verl.digests() == files_before


def test_an_edit_beside_its_compiled_twin_is_refused_and_any_other_is_taken(
    release_stage: ReleaseStage,
) -> None:
    black = release_stage.install(BLACK)
    before = black.tree()
    black.append("src/black/linegen.py")

    answer = black("push")
    assert (answer["outcome"], answer["exit_code"]) == ("refused", 3)
    assert reasons(answer) == {"src/black/linegen.py": "compiled-twin"}
    assert black.tree() == before

    black.repository.git("checkout", "--", ".")
    edited = black.append("src/black/files.py")
    answer = black("push")
    assert (answer["outcome"], answer["problems"]) == ("applied", [])
    assert black.tree()["black/files.py"].content == edited


def test_the_pure_python_wheel_of_the_same_release_takes_the_edit(
    release_stage: ReleaseStage, releases: Releases
) -> None:
    black = release_stage.install(BLACK, wheel=releases.pure_wheel(BLACK))
    files_before = black.digests()
    edited = black.append("src/black/linegen.py")

    answer = black("push")

    assert (answer["outcome"], answer["problems"]) == ("applied", [])
    assert confirmed(answer) == len(files_before.keys() - {GENERATED})
    assert black.digests() == files_before | {"black/linegen.py": edited}


def is_overlayable_python(path: str) -> bool:
    return path.startswith("aiohttp/") and path.endswith(PYTHON_SUFFIXES) and path != COMPILED_READER


def is_module(path: str) -> bool:
    return path.endswith(".py")


def module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def reasons(answer: Any) -> dict[str, str]:
    """Problem codes by path; every problem has a sentence and a next step."""
    assert all(problem["message"] and problem["next_step"] for problem in answer["problems"])
    return {problem["path"]: problem["code"] for problem in answer["problems"]}


def confirmed(answer: Any) -> int:
    """How many installed files equal the commit's; all that come from it have to."""
    content = answer["baseline"]["content"]
    assert (content["equal"], content["different"]) == (content["compared"], [])
    return int(content["compared"])


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    return {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}
