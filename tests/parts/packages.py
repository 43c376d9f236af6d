"""A small project as such projects are: a package with subpackages, data, a stub, a generated version and a
compiled part, beside sources, tools and tests that no wheel holds."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from tests.parts.extensions import Extension
from tests.parts.repositories import Repository
from tests.parts.wheels import write_wheel

VERSION = "1.0"

PACKAGE_FILES = {
    "__init__.py": '"""Sample package."""\n\nfrom NAME.engine import answer\n\n__all__ = ["answer"]\n',
    "config.py": """\
import json
from pathlib import Path


def load():
    return json.loads(Path(__file__).with_name("data").joinpath("defaults.json").read_text())
""",
    "data/defaults.json": '{"heads": 4}\n',
    "engine.py": """\
from NAME.config import load
from NAME.layers.attention import attend

GENERATION = 1


def answer():
    return f"generation {GENERATION}: {attend(load()['heads'])}"
""",
    "layers/__init__.py": "",
    "layers/attention.py": """\
from NAME.layers.norm import normalise


def attend(heads):
    return normalise(heads * 2)
""",
    "layers/norm.py": "def normalise(value):\n    return value / 8\n",
    "models/__init__.py": "",
    "models/tiny.py": "from NAME.layers import attention\n\nLAYERS = [attention.attend]\n",
    "ops.py": """\
from NAME._queue import SimpleQueue


def queue_of(*items):
    queue = SimpleQueue()
    for item in items:
        queue.put(item)
    return queue
""",
    "_queue.pyi": "class SimpleQueue:\n    def put(self, item: object) -> None: ...\n",
    "py.typed": "",
}

OTHER_FILES = {
    "README.md": "# Sample\n",
    ".gitignore": "__pycache__/\n*.so\n_version.py\n/build/\n/dist/\n",
    "csrc/kernel.c": "int kernel(int heads)\n{\n    return heads * 2;\n}\n",
    "tools/release.py": "print('release')\n",
    "tests/test_engine.py": "from NAME import answer\n\n\ndef test_answer():\n    assert answer()\n",
    "pyproject.toml": """\
[build-system]
requires = ["setuptools>=64"]
build-backend = "setuptools.build_meta"

[project]
name = "DISTRIBUTION"
version = "1.0"
requires-python = ">=3.8"
dependencies = []

[tool.setuptools.packages.find]
where = ["WHERE"]
include = ["NAME*"]
""",
}


class SampleProject(Repository):
    """The project as a git repository with one commit.

    Args:
        path: where the repository is made.
        layout: the source root, one of ``""``, ``"src"``, ``"python"``.
        name: the import package; the distribution is called the same with dashes.
    """

    def __init__(self, path: Path, *, layout: str = "", name: str = "sample_pkg") -> None:
        super().__init__(path)
        self.layout = layout
        self.name = name
        self.distribution = name.replace("_", "-")
        for file_name, text in OTHER_FILES.items():
            self.write(file_name, self._filled(text))
        for file_name, text in PACKAGE_FILES.items():
            self.write(self.source(file_name), self._filled(text))
        self.commit("Sample project")

    def source(self, name: str = "") -> str:
        """A name inside the package, such as ``layers/norm.py``, as a path of the repository."""
        return "/".join(part for part in (self.layout, self.name, name) if part)

    def edit(self, name: str, old: str, new: str) -> Path:
        """Replace a text that occurs once in a file of the package, in the worktree; the path edited."""
        path = self.path / self.source(name)
        text = path.read_text()
        if text.count(old) != 1:
            raise ValueError(f"{name} holds {old!r} {text.count(old)} times")
        return self.write(self.source(name), text.replace(old, new))

    def build_wheel(
        self,
        directory: Path,
        *,
        commit: str = "HEAD",
        extension: Extension | None = None,
        without: Sequence[str] = (),
        generated: Mapping[str, str] | None = None,
        requires: Sequence[str] = (),
    ) -> Path:
        """The wheel that a clean build of a commit gives, written by hand so that no build backend is needed.

        Args:
            directory: where the wheel is written.
            extension: the compiled part, for the interpreter that the wheel is meant for.
            without: patterns of installed paths (``sample_pkg/models/*``) that the build leaves out.
            generated: what the build writes into the package over what is tracked, by name inside it; by
                default a ``_version.py``.
            requires: requirements, as ``Requires-Dist`` has them.
        """
        files = self.committed_package(commit)
        version_file = {"_version.py": f'__version__ = "{VERSION}"\n'}
        for name, text in (version_file if generated is None else generated).items():
            files[f"{self.name}/{name}"] = text.encode()
        if extension is not None:
            files[f"{self.name}/{extension.file_name}"] = extension.content
        kept = {
            name: content
            for name, content in files.items()
            if not any(fnmatchcase(name, pattern) for pattern in without)
        }
        tag = extension.wheel_tag if extension else "py3-none-any"
        return write_wheel(directory, self.distribution, VERSION, kept, tag=tag, requires=requires)

    def committed_package(self, commit: str = "HEAD") -> dict[str, bytes]:
        """The package's tracked regular files at a commit, by installed path."""
        archive = self.git_bytes("archive", "--format=tar", commit, self.source())
        files: dict[str, bytes] = {}
        with tarfile.open(fileobj=io.BytesIO(archive)) as members:
            for member in members:
                content = members.extractfile(member) if member.isfile() else None
                if content is not None:
                    files[member.name.removeprefix(f"{self.layout}/")] = content.read()
        return files

    def _filled(self, text: str) -> str:
        values = {"DISTRIBUTION": self.distribution, "NAME": self.name, "WHERE": self.layout or "."}
        for word, value in values.items():
            text = text.replace(word, value)
        return text
