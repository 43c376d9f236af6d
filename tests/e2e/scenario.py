"""A project at work: its worktree, a target that holds its built wheel, and the command between them."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import stat
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from tests.parts.command_line import CommandLine, Result
from tests.parts.containers import Container, ContainerFactory, Entry
from tests.parts.environments import Environment, make_environment
from tests.parts.images import ImageFactory
from tests.parts.packages import SampleProject
from tests.parts.repositories import Repository

REVISION = "org.opencontainers.image.revision"
OURS = ".overlaysync"
ANSWER = "import sample_pkg; print(sample_pkg.answer())"
SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "result-1.schema.json"

Tree = dict[str, Entry]
Traces = Mapping[str, Any]


def check_manners(result: Result) -> Result:
    """What holds for every run without a terminal: no traceback, no escape sequence, no raw control code."""
    for stream in (result.stdout, result.stderr):
        assert "Traceback" not in stream, stream
        assert all(character.isprintable() or character == "\n" for character in stream), repr(stream)
    return result


def check_answer(result: Result) -> Any:
    """The one object of ``--json``, which follows the published schema and tells the exit code."""
    answer = check_manners(result).json()
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(answer)
    assert answer["exit_code"] == result.exit_code
    assert all(problem["next_step"] for problem in answer["problems"])
    return answer


def codes(answer: Any) -> list[str]:
    """The codes of an answer's problems, each once, in order of the alphabet."""
    return sorted({problem["code"] for problem in answer["problems"]})


@dataclass
class Work:
    """A project and a target; what kind of target it is, subclasses know.

    ``options``: evidence for the commands that prove the baseline.
    """

    project: SampleProject
    cli: CommandLine
    options: list[str] = field(default_factory=list)

    @property
    def target(self) -> str:
        raise NotImplementedError

    def traces(self) -> Traces:
        """What any write in the target would change, anywhere."""
        raise NotImplementedError

    def tree(self) -> Tree:
        """The install root, with times."""
        raise NotImplementedError

    def python(self, code: str) -> str:
        """What the target's Python prints."""
        raise NotImplementedError

    def __call__(self, command: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Result:
        """Runs ``overlaysync -C PROJECT COMMAND --container TARGET ...``."""
        line = ["-C", str(self.project.path), command, "--container", self.target]
        line += self.options if command in ("push", "status", "init") else []
        return check_manners(self.cli(*line, *arguments, environment=environment))

    def typed(self, command: str, *options: str) -> str:
        """The same command as a next step names it. ``options``: of the one that names it."""
        where = ["-C", str(self.project.path), command, "--container", self.target]
        return shlex.join(["overlaysync", *where, *options])

    def ask(self, command: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Any:
        """The answer of a command with ``--json``, checked against the schema."""
        return check_answer(self(command, "--json", *arguments, environment=environment))

    def push(self, *arguments: str) -> Any:
        """The answer of a push."""
        return self.ask("push", *arguments)

    def applied(self, *arguments: str) -> Any:
        """The answer of a push that must do its work."""
        answer = self.push(*arguments)
        assert (answer["outcome"], answer["exit_code"], answer["problems"]) == ("applied", 0, [])
        return answer

    def refused(self, *arguments: str, command: str = "push") -> Any:
        """The answer of a command that must be refused or fail, and must leave no trace in the target."""
        before = self.traces()
        answer = self.ask(command, *arguments)
        after = self.traces()
        assert {name: (before.get(name), after.get(name)) for name in changed(before, after)} == {}
        assert answer["outcome"] in ("refused", "failed"), answer
        assert answer["problems"], answer
        return answer

    def files(self) -> Tree:
        """Regular files and links below the install root, without our own records."""
        return {name: entry for name, entry in self.tree().items() if entry.content and not is_ours(name)}

    def answer(self) -> str:
        """What the package says when it is run in the target."""
        return self.python(ANSWER)

    def edit_generation(self, generation: int = 2) -> None:
        """The plain change: ``engine.py`` says another generation than HEAD's."""
        path = self.project.path / self.project.source("engine.py")
        lines = path.read_text().splitlines()
        changed_lines = [f"GENERATION = {generation}" if "GENERATION =" in line else line for line in lines]
        self.project.write(self.project.source("engine.py"), "\n".join(changed_lines) + "\n")


def is_ours(name: str) -> bool:
    return name == OURS or name.startswith(f"{OURS}/")


def changed(before: Traces, after: Traces) -> set[str]:
    """Names that one of two trees holds differently, or alone."""
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


@dataclass
class Scenario(Work):
    """A container as the target; ``site`` is the install root there."""

    container: Container = field(kw_only=True)
    site: str = field(kw_only=True)

    @property
    def target(self) -> str:
        return self.container.name

    def traces(self) -> Traces:
        return self.container.stamps("/")

    def tree(self) -> Tree:
        return self.container.tree(self.site, times=True)

    def python(self, code: str) -> str:
        return self.container.python(code)


@dataclass
class LocalScenario(Work):
    """An environment of this machine as the target."""

    environment: Environment = field(kw_only=True)

    @property
    def target(self) -> str:
        return f"local:{self.environment.prefix}"

    def traces(self) -> Traces:
        return local_tree(self.environment.prefix)

    def tree(self) -> Tree:
        return local_tree(self.environment.site_packages)

    def python(self, code: str) -> str:
        return self.environment.python(code)


def local_tree(root: Path) -> Tree:
    """The same as ``Container.tree``, of a directory of this machine."""
    entries: Tree = {}
    for directory, directories, names in os.walk(root):
        for path in (Path(directory, name) for name in (".", *directories, *names)):
            status = path.lstat()
            content = ""
            if stat.S_ISLNK(status.st_mode):
                content = f"-> {path.readlink()}"
            elif stat.S_ISREG(status.st_mode):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            name = os.path.relpath(path, root)
            entries[name] = Entry(status.st_mode, status.st_uid, status.st_gid, content, status.st_mtime_ns)
    return entries


FIND_SITE = (
    "import glob, sys, sysconfig; found = [p for p in sys.path if glob.glob(p + '/sample_pkg-*.dist-info')];"
    "print((found or [sysconfig.get_path('purelib')])[0])"
)


def site_of(container: Container) -> str:
    """The directory on the search path that holds the distribution."""
    return container.python(FIND_SITE)


def script(text: str) -> Callable[[Container], object]:
    """What a shell does in a container of the image; ``$SITE`` is the install root."""

    def run(container: Container) -> None:
        site = container.python("import sysconfig; print(sysconfig.get_path('purelib'))")
        container.exec("sh", "-ec", text, environment={"SITE": site}, check=True)

    return run


def own(path: str) -> Callable[[Container], object]:
    """Gives a tree to the user ``dev``."""
    return lambda container: container.exec("chown", "-R", "1000:1000", path, check=True)


@dataclass
class Stage:
    """Builds scenarios out of the real parts."""

    images: ImageFactory
    containers: ContainerFactory
    cli: CommandLine
    directory: Path
    labelled: dict[tuple[object, ...], str]

    def project(self, layout: str = "") -> SampleProject:
        return SampleProject(self.directory / "repository", layout=layout)

    def image(
        self,
        project: SampleProject,
        *,
        image: str | None = None,
        labels: Mapping[str, str] | None = None,
        prepare: Callable[[Container], object] | None = None,
        build: Mapping[str, Any] | None = None,
        install: tuple[str, ...] = (),
    ) -> str:
        """An image that holds the project's wheel; the same one for every test that asks for the same.

        Args:
            image: a base image's tag (default: a virtual environment's).
            labels: of the image (default: the revision label with the project's commit).
            prepare: works in a container of the image before the target is made of it.
            build: further arguments of ``SampleProject.build_wheel``.
            install: further options of ``pip install``.
        """
        image = image or self.images.venv()
        wheel = project.build_wheel(
            self.directory / "wheels", extension=self.images.extension(image), **(build or {})
        )
        labels = {REVISION: project.head} if labels is None else labels
        tag = self.images.installed(image, wheel, options=install)
        if prepare is not None:
            return self.images.derived(tag, prepare, labels=labels)
        return self._labelled(tag, labels) if labels else tag

    def _labelled(self, image: str, labels: Mapping[str, str]) -> str:
        """The image with labels and nothing else; made once in a session."""
        key = (image, *sorted(labels.items()))
        if key not in self.labelled:
            tag = f"overlaysync-test/labelled:{uuid.uuid4().hex[:12]}"
            lines = [
                f"FROM {image}",
                *(f"LABEL {json.dumps(name)}={json.dumps(value)}" for name, value in labels.items()),
            ]
            engine = self.images.engine
            engine.run("build", "--quiet", f"--tag={tag}", "-", input="\n".join(lines).encode())
            self.labelled[key] = tag
        return self.labelled[key]

    def start(self, project: SampleProject, tag: str, **run: Any) -> Scenario:
        """A container of an image; ``run``: further arguments of ``ContainerFactory.run``."""
        container = self.containers.run(tag, **run)
        return Scenario(project, self.cli, container=container, site=site_of(container))

    def set(
        self,
        *,
        layout: str = "",
        image: str | None = None,
        labels: Mapping[str, str] | None = None,
        prepare: Callable[[Container], object] | None = None,
        build: Mapping[str, Any] | None = None,
        install: tuple[str, ...] = (),
        **run: Any,
    ) -> Scenario:
        """Project, image and container in one: see ``image`` and ``start``."""
        project = self.project(layout)
        tag = self.image(project, image=image, labels=labels, prepare=prepare, build=build, install=install)
        return self.start(project, tag, **run)


def set_locally(
    cli: CommandLine, directory: Path, *, layout: str = "", build: Mapping[str, Any] | None = None
) -> LocalScenario:
    """A project, and a virtual environment of this machine that holds its wheel. The evidence is given."""
    project = SampleProject(directory / "repository", layout=layout)
    environment = make_environment(directory / "environment")
    environment.install(project.build_wheel(directory / "wheels", **(build or {})))
    return LocalScenario(project, cli, ["--image-commit", project.head], environment=environment)


def second_commit(project: Repository) -> str:
    """HEAD one commit on, with nothing of the package changed; the id before."""
    before = project.head
    project.write("notes.txt", "nothing of the package\n")
    project.commit("Notes")
    return before
