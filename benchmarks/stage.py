"""What the benchmarks run on: the workload's repository, a container of its wheel, and the commands."""

from __future__ import annotations

import itertools
import shutil
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measuring import ENVIRONMENT, run
from benchmarks.workload import make_project, module_name
from tests.e2e.scenario import REVISION, site_of
from tests.parts.containers import Container, ContainerFactory, sweep
from tests.parts.engine import find_engine
from tests.parts.images import ImageFactory
from tests.parts.packages import SampleProject

TOOL = (sys.executable, "-m", "overlaysync")


@dataclass
class Bench:
    """``state``: the directory of this run's records and caches."""

    project: SampleProject
    container: Container
    site: str
    state: Path
    _edits: Iterator[int] = field(default_factory=lambda: itertools.count(2))

    def tool(self, command: str, *options: str, fine: tuple[int, ...] = (0,)) -> float:
        """Seconds of one command of ours."""
        line = [*TOOL, "-C", str(self.project.path), command, "--container", self.container.name, *options]
        return run(line, fine=fine).seconds

    def edit(self) -> None:
        """One line of one module, another at every call."""
        text = f"GENERATION = {next(self._edits)}\n"
        path = self.project.path / self.project.source("engine.py")
        path.write_text("".join(text if "GENERATION =" in line else line for line in path.open()))

    def edit_many(self, names: list[str], size: int) -> None:
        """So many bytes in each of these files, others at every call."""
        line = f"VALUE = {next(self._edits)}\n"
        text = line + "#" + "x" * (size - len(line) - 2) + "\n"
        for name in names:
            (self.project.path / self.project.source(name)).write_text(text)

    def modules(self, count: int) -> list[str]:
        return [module_name(number) for number in range(count)]

    def forget(self) -> None:
        """No cache of ours is left."""
        shutil.rmtree(self.state / "cache", ignore_errors=True)

    def floor(self) -> float:
        """Python, git's own look at the repository, and one start of Python in the container."""
        path = str(self.project.path)
        return sum(
            run(command).seconds
            for command in (
                [sys.executable, "-c", "pass"],
                ["git", "-C", path, "--no-optional-locks", "status", "--porcelain", "-z"],
                self.exec("python3", "-I", "-S", "-c", "pass"),
            )
        )

    def exec(self, *command: str) -> list[str]:
        return ["docker", "exec", "--interactive", self.container.name, *command]


@contextmanager
def staged(directory: Path, *, modules: int, others: int) -> Iterator[Bench]:
    """The workload, made anew; containers and images go at the end."""
    engine, session = find_engine(), uuid.uuid4().hex
    state = directory / "state"
    for name in ("STATE", "CACHE", "CONFIG"):
        ENVIRONMENT[f"XDG_{name}_HOME"] = str(state / name.lower())
    try:
        project = make_project(directory / "repository", modules=modules, others=others)
        images = ImageFactory(engine, session)
        base = images.venv()
        wheel = project.build_wheel(directory / "wheels", extension=images.extension(base))
        tag = images.installed(base, wheel, labels={REVISION: project.head})
        container = ContainerFactory(engine, session).run(tag)
        yield Bench(project, container, site_of(container), state)
    finally:
        sweep(engine, session)
