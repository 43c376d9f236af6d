"""A project at work: its worktree, a container that holds its built wheel, and the command between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.parts.command_line import CommandLine, Result
from tests.parts.containers import Container, ContainerFactory, Entry
from tests.parts.images import ImageFactory
from tests.parts.packages import SampleProject

REVISION = "org.opencontainers.image.revision"


@dataclass
class Scenario:
    """``project`` is the host's side, ``container`` the target's; ``site`` is the install root there."""

    project: SampleProject
    container: Container
    site: str
    cli: CommandLine
    options: list[str] = field(default_factory=list)

    def __call__(self, command: str, *arguments: str) -> Result:
        """Runs ``overlaysync -C PROJECT COMMAND --container NAME ...``."""
        target = ["--container", self.container.name]
        return self.cli("-C", self.project.path, command, *target, *self.options, *arguments)

    def push(self, *arguments: str) -> Any:
        """The answer of ``push --json``."""
        return self("push", "--json", *arguments).json()

    def tree(self) -> dict[str, Entry]:
        """The install root, without directories' own entries of Python's caches."""
        return self.container.tree(self.site, times=True)

    def files(self) -> dict[str, Entry]:
        """Regular files and links below the install root that are not our own records."""
        return {
            path: entry
            for path, entry in self.tree().items()
            if entry.content and not path.startswith(".overlaysync")
        }

    def answer(self) -> str:
        """What the package says when it is run in the container."""
        return self.container.python("import sample_pkg; print(sample_pkg.answer())")


def site_of(container: Container) -> str:
    return container.python("import sysconfig; print(sysconfig.get_path('purelib'))")


@dataclass
class Stage:
    """Builds scenarios out of the real parts."""

    images: ImageFactory
    containers: ContainerFactory
    cli: CommandLine
    directory: Path

    def set(
        self,
        *,
        layout: str = "",
        image: str | None = None,
        labels: Mapping[str, str] | None = None,
        prepare: Callable[[Container], object] | None = None,
        build: Mapping[str, Any] | None = None,
        **run: Any,
    ) -> Scenario:
        """A scenario.

        Args:
            layout: the project's source root.
            image: a base image's tag (default: a virtual environment's).
            labels: of the image (default: the revision label with the project's commit).
            prepare: works in a container of the image before the target is made of it.
            build: further arguments of ``SampleProject.build_wheel``.
            run: further arguments of ``ContainerFactory.run``.
        """
        project = SampleProject(self.directory / "repository", layout=layout)
        image = image or self.images.venv()
        wheel = project.build_wheel(
            self.directory / "wheels", extension=self.images.extension(image), **(build or {})
        )
        labels = {REVISION: project.head} if labels is None else labels
        tag = self.images.installed(image, wheel, labels=labels)
        if prepare is not None:
            tag = self.images.derived(tag, prepare, labels=labels)
        container = self.containers.run(tag, **run)
        return Scenario(project, container, site_of(container), self.cli)
