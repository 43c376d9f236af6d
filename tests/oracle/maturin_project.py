"""A maturin project that needs no crates: releases of real ones need those of the crates' own registry."""

from __future__ import annotations

from collections.abc import Mapping

from tests.oracle.judging import State
from tests.oracle.trees import Entry

_FILES: Mapping[str, str] = {
    "pyproject.toml": """\
[build-system]
requires = ["maturin>=1.4,<2", "cffi"]
build-backend = "maturin"

[project]
name = "mixed-layout"
version = "1.0"
dependencies = ["cffi"]

[tool.maturin]
bindings = "cffi"
python-source = "python"
module-name = "mixed_layout._native"
""",
    "Cargo.toml": """\
[package]
name = "mixed-layout"
version = "1.0.0"
edition = "2021"

[lib]
name = "_native"
crate-type = ["cdylib"]
""",
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "mixed-layout"\nversion = "1.0.0"\n',
    "src/lib.rs": """\
#[no_mangle]
pub extern "C" fn twice(value: i64) -> i64 {
    value * 2
}
""",
    "README.md": "# Mixed layout\n",
    "tests/test_twice.py": "import mixed_layout\n",
    "python/mixed_layout/__init__.py": "from mixed_layout._native import lib\n\ntwice = lib.twice\n",
    "python/mixed_layout/py.typed": "",
    "python/mixed_layout/__init__.pyi": "def twice(value: int) -> int: ...\n",
    "python/mixed_layout/shapes.py": "SIDES = 4\n",
    "python/mixed_layout/data/units.json": '{"m": 1}\n',
}

_STEPS: Mapping[str, Mapping[str, str | None]] = {
    "edits": {
        "python/mixed_layout/shapes.py": "SIDES = 6\n",
        "python/mixed_layout/__init__.pyi": "def twice(value: int, /) -> int: ...\n",
        "python/mixed_layout/data/units.json": '{"m": 1, "km": 1000}\n',
        "tests/test_shapes.py": "import mixed_layout.shapes\n",
    },
    "new files": {
        "python/mixed_layout/colours.py": "RED = 1\n",
        "python/mixed_layout/solids/__init__.py": "",
        "python/mixed_layout/solids/cube.py": "FACES = 6\n",
        "python/mixed_layout/plain/part.py": "PART = 1\n",
        "python/mixed_layout/data/colours.json": "{}\n",
        "python/mixed_layout/solids/faces.csv": "cube,6\n",
    },
    "moves and deletions": {
        "python/mixed_layout/colours.py": None,
        "python/mixed_layout/paint/__init__.py": "",
        "python/mixed_layout/paint/colours.py": "RED = 1\n",
        "python/mixed_layout/shapes.py": None,
        "python/mixed_layout/shapes/__init__.py": "SIDES = 6\n",
        "python/mixed_layout/data/colours.json": None,
    },
    "Rust beside Python": {
        "src/lib.rs": _FILES["src/lib.rs"].replace("value * 2", "value + value + 1"),
        "python/mixed_layout/paint/colours.py": "RED = 2\n",
    },
    "metadata": {
        "pyproject.toml": _FILES["pyproject.toml"].replace('"1.0"', '"1.1"'),
        "python/mixed_layout/paint/colours.py": "RED = 3\n",
    },
}
"""Changes from each state to the next, by its label: texts by path, None for a removed file."""


def states() -> tuple[State, ...]:
    """The project as it grows."""
    files: dict[str, str] = dict(_FILES)
    found = [State("start", _tree(files))]
    for label, changes in _STEPS.items():
        for path, text in changes.items():
            if text is None:
                del files[path]
            else:
                files[path] = text
        found.append(State(label, _tree(files)))
    return tuple(found)


def _tree(files: Mapping[str, str]) -> dict[str, Entry]:
    return {path: Entry(text.encode()) for path, text in files.items()}
