"""A project that builds anywhere within a blink: its backend is its own, and needs no package index."""

from __future__ import annotations

from collections.abc import Mapping

from tests.oracle.trees import Entry, Tree

_BACKEND = """\
import base64, hashlib, pathlib, re, zipfile

def build_wheel(directory, config_settings=None, metadata_directory=None):
    text = pathlib.Path("pyproject.toml").read_text()
    name, information = "small-1.0-py3-none-any.whl", "small-1.0.dist-info"
    requires = re.findall(r'"([^"]+)"', re.search(r"^dependencies = (.*)$", text, re.M)[1])
    files = {
        path.as_posix(): path.read_bytes()
        for path in sorted(pathlib.Path("small").rglob("*"))
        if path.is_file() and not path.name.startswith("hidden_")
    }
    files["small/_made.py"] = hashlib.sha256(pathlib.Path("grammar.g4").read_bytes()).hexdigest().encode()
    metadata = "Metadata-Version: 2.1\\nName: small\\nVersion: 1.0\\n"
    metadata += "".join(f"Requires-Dist: {item}\\n" for item in requires)
    files[f"{information}/METADATA"] = metadata.encode()
    files[f"{information}/WHEEL"] = b"Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    record = [f"{information}/RECORD,,"]
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(content)}")
    files[f"{information}/RECORD"] = "\\n".join(record).encode()
    with zipfile.ZipFile(pathlib.Path(directory, name), "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return name
"""
"""It ships ``small/`` but what is hidden, and makes a module from a grammar."""

_FILES = {
    "backend.py": _BACKEND,
    "pyproject.toml": """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "small"
version = "1.0"
dependencies = ["attrs>=20"]
""",
    "requirements/build.txt": "build==1.0\n",
    "grammar.g4": "rule: 'a';\n",
    "small/__init__.py": "",
    "small/core.py": "NUMBER = 1\n",
    "small/extra.py": "",
    "small/data.json": "{}\n",
}


PYPROJECT = _FILES["pyproject.toml"]


def small(changes: Mapping[str, str | None] | None = None) -> Tree:
    """The project's files with changes on top: texts by path, None for a removed file."""
    files = {**_FILES, **(changes or {})}
    return {path: Entry(text.encode()) for path, text in files.items() if text is not None}
