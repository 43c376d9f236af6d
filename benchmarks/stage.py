"""What the benchmarks run on: the workload's repository, a container of its wheel, and the commands."""

from __future__ import annotations

import io
import itertools
import shutil
import sys
import tarfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.measuring import ENVIRONMENT, run
from benchmarks.workload import make_project, module_name
from tests.e2e.scenario import REVISION, Scenario, site_of
from tests.parts.command_line import CommandLine
from tests.parts.containers import Container, ContainerFactory, sweep
from tests.parts.engine import find_engine
from tests.parts.images import ImageFactory
from tests.parts.interpreters import libraries_of
from tests.parts.packages import SampleProject

INSTALL_SECONDS = 1800.0
"""pip compiles every file of the package."""
TOOL = (sys.executable, "-m", "overlaysync")


@dataclass
class Bench:
    """What a measurement works on.

    Args:
        state: the directory of this run's records and caches.
        image: what the container is made of.
        idle_seconds: for how long a ``watch`` without work is looked at.
        evidence: options of ``push`` and ``watch`` that name the commit, where the image's label cannot.
    """

    project: SampleProject
    container: Container
    site: str
    state: Path
    image: str
    containers: ContainerFactory
    idle_seconds: float
    evidence: tuple[str, ...] = ()
    _edits: Iterator[int] = field(default_factory=lambda: itertools.count(2))

    @property
    def package(self) -> Path:
        """The package's directory in the worktree."""
        return self.project.path / self.project.source()

    def tool(self, command: str, *options: str, fine: tuple[int, ...] = (0,)) -> float:
        """Seconds of one command of ours."""
        where = ["-C", str(self.project.path), command, "--container", self.container.name]
        return run([*TOOL, *where, *self.evidence, *options], fine=fine)

    def edit(self) -> None:
        """One line of one module, another at every call."""
        text = f"GENERATION = {next(self._edits)}\n"
        path = self.package / "engine.py"
        path.write_text("".join(text if "GENERATION =" in line else line for line in path.open()))

    def text_for(self, size: int) -> str:
        """A module of so many bytes, another at every call."""
        line = f"VALUE = {next(self._edits)}\n"
        return line + "#" + "x" * (size - len(line) - 2) + "\n"

    def edit_many(self, names: list[str], size: int) -> None:
        """So many bytes in each of these files, others at every call."""
        text = self.text_for(size)
        for name in names:
            (self.package / name).write_text(text)

    def restore(self) -> None:
        """Nothing is changed any longer, here and there."""
        self.project.git("checkout", "--quiet", "--", ".")
        self.tool("push")

    def modules(self, count: int) -> list[str]:
        return [module_name(number) for number in range(count)]

    def forget(self) -> None:
        """No cache of ours is left."""
        shutil.rmtree(self.state / "cache", ignore_errors=True)

    def floor(self) -> float:
        """Python, git's own look at the repository, and one start of Python in the container."""
        path = str(self.project.path)
        return sum(
            run(command)
            for command in (
                [sys.executable, "-c", "pass"],
                ["git", "-C", path, "--no-optional-locks", "status", "--porcelain", "-z"],
                self.exec("python3", "-I", "-S", "-c", "pass"),
            )
        )

    def exec(self, *command: str) -> list[str]:
        return ["docker", "exec", "--interactive", self.container.name, *command]

    def tar(self, names: list[str], place: str) -> float:
        """Seconds of ``tar c | docker exec tar x``: these files of the package into a directory there."""
        source = ["tar", "c", "-C", str(self.package), *names]
        return run(self.exec("tar", "x", "-C", place), source=source)

    def install(self, program: str) -> None:
        """This machine's program with its libraries; what the container has stays."""
        found = Path(shutil.which(program) or program)
        files = {f"usr/bin/{program}": found, **libraries_of([found.resolve()])}
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w", dereference=True) as members:
            for name, path in files.items():
                members.add(path, name)
        line = ["exec", "--interactive", self.container.name, "tar", "x", "--skip-old-files", "-C", "/"]
        self.container.engine.run(*line, input=archive.getvalue())

    def scenario(self) -> Scenario:
        """The same as the tests have it."""
        return Scenario(
            self.project,
            CommandLine(self.state),
            [*self.evidence],
            container=self.container,
            site=self.site,
        )

    @contextmanager
    def on_tmpfs(self) -> Iterator[Bench]:
        """The same in another container, whose environment and ``/tmp`` are in memory.

        The mount is above the install root, for one that begins there is refused; and what lies on a mount,
        the image's label does not speak for.
        """
        container = self.containers.run(self.image, arguments=["--tmpfs=/opt:exec", "--tmpfs=/tmp"])
        there = replace(self, container=container, evidence=("--image-commit", self.project.head))
        try:
            run(there.exec("tar", "x", "-C", "/opt"), source=self.exec("tar", "c", "-C", "/opt", "."))
            yield there
        finally:
            container.remove()


@contextmanager
def staged(
    directory: Path, *, modules: int, others: int, size: int = 15_000, idle_seconds: float = 180.0
) -> Iterator[Bench]:
    """The workload, made anew; containers and images go at the end."""
    engine, session = find_engine(), uuid.uuid4().hex
    state = directory / "state"
    for name in ("STATE", "CACHE", "CONFIG"):
        ENVIRONMENT[f"XDG_{name}_HOME"] = str(state / name.lower())
    try:
        project = make_project(directory / "repository", modules=modules, others=others, size=size)
        images = ImageFactory(engine, session)
        base = images.venv()
        wheel = project.build_wheel(directory / "wheels", extension=images.extension(base))
        tag = images.installed(base, wheel, labels={REVISION: project.head}, timeout=INSTALL_SECONDS)
        containers = ContainerFactory(engine, session)
        container = containers.run(tag)
        yield Bench(project, container, site_of(container), state, tag, containers, idle_seconds)
    finally:
        sweep(engine, session)
