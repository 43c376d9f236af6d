"""The workload: a repository of 10,000 files with a package of 4,000 Python files, about 60 MB, installed."""

from __future__ import annotations

import random
from pathlib import Path

from tests.parts.packages import SampleProject

MODULES_EACH = 50
"""Modules of one directory of the package."""

STATEMENT = "def function_{number}(value):\n    return value * {factor} + {number}\n\n\n"


def module_text(number: int, size: int) -> str:
    """Python of about so many bytes, another for every number, that compiles as fast as real code does."""
    factors = random.Random(number)
    pieces, length = [f'"""Module {number}."""\n\n\n'], 0
    while length < size:
        pieces.append(STATEMENT.format(number=len(pieces), factor=factors.randrange(1 << 30)))
        pieces.append("#" + " prose" * 60 + "\n\n\n")
        length += len(pieces[-1]) + len(pieces[-2])
    return "".join(pieces)


def module_name(number: int) -> str:
    """Where a module stands in the package."""
    return f"part_{number // MODULES_EACH:03}/module_{number:05}.py"


def make_project(path: Path, *, modules: int, others: int, size: int = 15_000) -> SampleProject:
    """The sample project with so many modules more, and so many files beside the package."""
    project = SampleProject(path)
    for number in range(modules):
        name = module_name(number)
        if number % MODULES_EACH == 0:
            project.write(project.source(name.partition("/")[0] + "/__init__.py"), "")
        project.write(project.source(name), module_text(number, size))
    for number in range(others):
        project.write(f"docs/{number // 100:03}/page_{number:05}.md", f"# Page {number}\n" + "Prose.\n" * 40)
    project.git("add", "--all")
    project.git("commit", "--quiet", "--amend", "--no-edit")
    return project
