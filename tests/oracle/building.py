"""Wheels of source trees, each by its project's own backend in an environment of its own."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from build import BuildBackendException, BuildException, ProjectBuilder
from filelock import FileLock

from tests.oracle.trees import Tree, digest, read_source_release, write_tree
from tests.parts.environments import make_environment

REPRODUCIBLE = {
    "SOURCE_DATE_EPOCH": "1704164645",
    "CFLAGS": "-g0",  # debug sections name the folder of the build
    "CXXFLAGS": "-g0",
    "PYTHONWARNINGS": "ignore",
}
"""Variables by which builds of one content give one wheel, and say nothing of deprecations."""

WITHOUT_HISTORY = {"SETUPTOOLS_SCM_PRETEND_VERSION": "1.0"}
"""For trees that do not come from a source release, which knows its version."""

PYTHON = f"{sys.implementation.name}-{sys.version_info[0]}.{sys.version_info[1]}"


_COMPLAINT = re.compile(r"(?i)\b(error|fatal)\b\S*:? \S")


class BuildFailedError(Exception):
    """The backend, or what it needs, gives no wheel; the message is the first line that complains."""


class Workshop:
    """Downloads source releases and builds wheels; both are kept for the next time.

    Args:
        directory: where everything is kept. Builds of one project always run in the same folder of it.
        environment: of the processes started (default: this process's, as it is now).
    """

    def __init__(self, directory: Path, environment: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self._environment = dict(os.environ if environment is None else environment)
        self._failures: dict[Path, str] = {}

    def release(self, name: str, version: str) -> Tree:
        """The tree of a source release of the package index. Raises BuildFailedError."""
        folder = self.directory / "releases" / f"{name}-{version}"
        with _locked(folder):
            if not list(folder.glob("*.tar.gz")):
                self._download(name, version, folder)
            (archive,) = folder.glob("*.tar.gz")
        return read_source_release(archive)

    def wheel(self, tree: Tree, project: str) -> Path:
        """The wheel that a clean build of the tree gives. Raises BuildFailedError."""
        folder = self.directory / "wheels" / _key(digest(tree))
        if folder in self._failures:
            raise BuildFailedError(self._failures[folder])
        with _locked(self.directory / "builds" / project):
            if not list(folder.glob("*.whl")):
                folder.mkdir(parents=True, exist_ok=True)
                try:
                    self._build(tree, self.directory / "builds" / project, folder)
                except BuildFailedError as error:
                    self._failures[folder] = str(error)
                    raise
            (wheel,) = folder.glob("*.whl")
        return wheel

    def _build(self, tree: Tree, workplace: Path, destination: Path) -> None:
        source = workplace / "source"
        write_tree(tree, source)
        variables = REPRODUCIBLE
        if "PKG-INFO" not in tree:
            variables = REPRODUCIBLE | WITHOUT_HISTORY
            self._run(["git", "init", "--quiet"], source)  # some backends ship what git lists
            self._run(["git", "add", "--all"], source)
        try:
            wanted = set(ProjectBuilder(source).build_system_requires)
            while True:
                prefix = self._environment_with(wanted)
                builder = self._builder(source, prefix, variables)
                more = builder.get_requires_for_build("wheel") - wanted
                if not more:
                    break
                wanted |= more
            builder.build("wheel", destination)
        except (BuildBackendException, BuildException) as error:
            raise BuildFailedError(_complaint(str(error))) from error
        (workplace / "backend").write_text(str(prefix))

    def _builder(self, source: Path, prefix: Path, variables: Mapping[str, str]) -> ProjectBuilder:
        path = f"{prefix / 'bin'}{os.pathsep}{self._environment.get('PATH', os.defpath)}"

        def run(
            cmd: Sequence[str], cwd: str | None = None, extra_environ: Mapping[str, str] | None = None
        ) -> None:
            self._run(cmd, cwd or source, {"PATH": path, **variables, **(extra_environ or {})})

        return ProjectBuilder(source, str(prefix / "bin" / "python"), run)

    def _environment_with(self, requirements: Iterable[str]) -> Path:
        """A virtual environment that holds these distributions."""
        listed = sorted(requirements)
        folder = self.directory / "backends" / _key(repr(listed))
        with _locked(folder):
            if not (folder / "complete").exists():
                environment = make_environment(folder)
                if listed:
                    self._pip("--python", str(environment.executable), "install", "--quiet", *listed)
                (folder / "complete").touch()
        return folder

    def _download(self, name: str, version: str, folder: Path) -> None:
        """By pip, which has the backend prepare the metadata; the backend of an earlier release may do."""
        arguments = ["download", "--quiet", "--no-deps", "--no-binary", name, "--dest", str(folder)]
        arguments.append(f"{name}=={version}")
        known = self.directory / "builds" / name / "backend"
        if known.exists():
            python = str(Path(known.read_text(), "bin", "python"))
            try:
                self._pip("--python", python, *arguments, "--no-build-isolation")
                return
            except BuildFailedError:  # another backend, then: pip sets up the right one
                pass
        self._pip(*arguments)

    def _pip(self, *arguments: str) -> None:
        self._run([sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments], self.directory)

    def _run(
        self, command: Sequence[str], directory: str | Path, variables: Mapping[str, str] | None = None
    ) -> None:
        done = subprocess.run(
            command,
            cwd=directory,
            env={**self._environment, **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=1200,
            check=False,
        )
        if done.returncode != 0:
            raise BuildFailedError(_complaint(done.stdout.decode(errors="replace")))


def _complaint(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()] or ["it said nothing"]
    return next((line for line in lines if _COMPLAINT.search(line)), lines[-1])


def _locked(folder: Path) -> FileLock:
    folder.mkdir(parents=True, exist_ok=True)
    return FileLock(folder / "lock")


def _key(text: str) -> str:
    return hashlib.sha256(f"{PYTHON} {text}".encode()).hexdigest()[:24]
