"""Images made in seconds out of this machine's own interpreters and programs; nothing is downloaded.

An image of a recipe is kept between sessions under a tag that holds the recipe's digest; old ones go with
``docker image prune --all --filter label=overlaysync.test.base``. What a session derives from it carries the
session's label and goes when the session ends.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
from filelock import FileLock

from tests.parts import debian
from tests.parts.containers import SESSION_LABEL, Container, ContainerFactory
from tests.parts.engine import Engine
from tests.parts.extensions import Extension, extension_of
from tests.parts.interpreters import debian_interpreter, interpreter_at, running_interpreter
from tests.parts.recipes import GROUPS, REPOSITORY, USERS, Recipe, configuration, root_archive


class ImageFactory:
    """Makes images, or finds them where they are still there. Every method returns a tag."""

    def __init__(self, engine: Engine, session: str) -> None:
        self.engine = engine
        self.session = session
        self._installed: dict[tuple[object, ...], str] = {}
        self._extensions: dict[str, Extension] = {}

    def venv(self, executable: Path | None = None) -> str:
        """Python of the test run, or another of this machine, on PATH from the environment ``/opt/venv``."""
        return self._of(executable, venv=True, shell=True)

    def no_shell(self, executable: Path | None = None) -> str:
        """The same with ``sleep`` as its only program: no shell, no tar, no cat."""
        return self._of(executable, venv=True, shell=False)

    def system(self, executable: Path | None = None) -> str:
        """The same without a virtual environment: packages go into the interpreter's own site-packages."""
        return self._of(executable, venv=False, shell=True)

    def dist_packages(self) -> str:
        """Debian's Python in ``/usr``; skips where this machine has none."""
        python = debian_interpreter()
        if python is None:
            pytest.skip("the dist-packages image needs Debian's python3 in /usr/bin")
        return self._made(Recipe(python, venv=False, shell=True))

    def debian(self, suite: str) -> str:
        """Python as a Debian suite has it, from the suite's packages; skips where they cannot be had."""
        recipe = Path(debian.__file__).read_bytes()
        tag = f"{REPOSITORY}/debian-{suite}:{hashlib.sha256(recipe).hexdigest()[:16]}"
        if not self._exists(tag):
            with tempfile.TemporaryDirectory() as work:
                try:
                    archive = debian.unpacked_root(suite, Path(work), USERS, GROUPS)
                except debian.SuiteMissingError as reason:
                    pytest.skip(f"no image of Debian {suite}: {reason}")
                self._import(archive, tag, configuration("/usr/local/bin:/usr/bin:/bin"))
        return tag

    def extension(self, image: str) -> Extension:
        """A compiled module that the image's own Python can load, for a wheel to be installed there."""
        if image not in self._extensions:
            starter = (self.engine.command, "run", "--rm", "--network=none", image, "python3")
            self._extensions[image] = extension_of(*starter)
        return self._extensions[image]

    def installed(
        self,
        image: str,
        *wheels: Path,
        options: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
        timeout: float = 120,
    ) -> str:
        """The image with wheels installed by the real pip, bytecode and RECORD included.

        Args:
            options: further ones of ``pip install``; without any, the wheels go where the image's
                interpreter keeps its packages.
            labels: of the new image.
            timeout: seconds that pip may take.
        """
        content = tuple((wheel.name, wheel.read_bytes()) for wheel in wheels)
        key = (image, content, tuple(options), tuple(sorted((labels or {}).items())))
        if key not in self._installed:
            pip = find_spec("pip")
            if pip is None or not pip.submodule_search_locations:
                pytest.skip("installing into an image needs pip beside the Python that runs the tests")
            mounts = [f"{wheel}:/mnt/{wheel.name}:ro" for wheel in wheels]
            mounts.append(f"{pip.submodule_search_locations[0]}:/mnt/pip:ro")
            command = ["python3", "/mnt/pip", "install", "--quiet", "--no-index", "--no-deps"]
            command += ["--no-cache-dir", "--root-user-action=ignore", *options]
            command += [f"/mnt/{wheel.name}" for wheel in wheels]
            self._installed[key] = self.derived(
                image,
                lambda container: container.exec(*command, check=True, timeout=timeout),
                labels=labels,
                mounts=mounts,
            )
        return self._installed[key]

    def derived(
        self,
        image: str,
        prepare: Callable[[Container], object],
        *,
        labels: Mapping[str, str] | None = None,
        mounts: Iterable[str] = (),
    ) -> str:
        """The image after ``prepare`` has worked in a container of it; ``/mnt`` is left out."""
        tag = f"{REPOSITORY}/derived:{uuid.uuid4().hex[:12]}"
        factory = ContainerFactory(self.engine, self.session)
        try:
            container = factory.run(image, arguments=["--tmpfs=/mnt"], mounts=mounts)
            prepare(container)
            changes = _label_changes({SESSION_LABEL: self.session, **(labels or {})})
            self.engine.run("commit", *_change_options(changes), container.name, tag)
        finally:
            factory.remove_all()
        return tag

    def _of(self, executable: Path | None, *, venv: bool, shell: bool) -> str:
        python = interpreter_at(executable) if executable else running_interpreter()
        return self._made(Recipe(python, venv, shell))

    def _made(self, recipe: Recipe) -> str:
        with FileLock(Path(tempfile.gettempdir(), "overlaysync-test-images.lock")):
            if not self._exists(recipe.tag):
                self._import(root_archive(recipe), recipe.tag, recipe.configuration)
        return recipe.tag

    def _exists(self, tag: str) -> bool:
        return self.engine.run("image", "inspect", tag, check=False).returncode == 0

    def _import(self, archive: bytes, tag: str, changes: Iterable[str]) -> None:
        self.engine.run("import", *_change_options(changes), "-", tag, input=archive)


def _label_changes(labels: Mapping[str, str]) -> list[str]:
    return [f"LABEL {json.dumps(key)}={json.dumps(value)}" for key, value in labels.items()]


def _change_options(changes: Iterable[str]) -> list[str]:
    return [option for change in changes for option in ("--change", change)]
