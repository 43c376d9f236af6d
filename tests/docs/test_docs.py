"""The committed pages say what the code says, and name only what is there."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

from overlaysync import errors
from overlaysync.cli import failure
from overlaysync.errors import ERROR_CODES, EXIT_CODES, OverlaysyncError
from overlaysync.model.problem import EXIT_CODE_ORDER
from overlaysync.model.problem_kinds import PROBLEM_KINDS
from tests.docs.source import PROJECT, SOURCE, argument, calls, texts

DOCS = PROJECT / "docs"
WRITTEN = sorted({*DOCS.rglob("*.md"), *PROJECT.glob("*.md"), *(PROJECT / "hooks").glob("*.md")})
ARCHITECTURE = (DOCS / "architecture.md").read_text(encoding="utf-8")
CONTRIBUTING = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """``docs/generate.py``."""
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("generate")


def test_generated_pages_are_up_to_date(generator: ModuleType) -> None:
    pages = generator.pages()
    committed = {name for name in pages if (DOCS / name).exists()}
    committed |= {f"commands/{file.name}" for file in (DOCS / "commands").glob("*.md")}
    stale = sorted(
        name
        for name in {*pages, *committed}
        if name not in pages
        or name not in committed
        or (DOCS / name).read_text(encoding="utf-8") != pages[name]
    )
    assert not stale, f"run: python docs/generate.py ({', '.join(stale)})"


def test_every_exit_code_is_in_the_table_and_every_one_of_it_is_used() -> None:
    used = {kind.exit_code for kind in vars(errors).values() if is_error(kind)}
    used |= {kind.exit_code for kind in PROBLEM_KINDS.values()}
    used |= {0, failure.BUG, failure.USAGE}
    assert used == set(EXIT_CODES)
    assert set(EXIT_CODE_ORDER) <= set(EXIT_CODES)


def is_error(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, OverlaysyncError)


def test_every_command_says_how_it_ends(generator: ModuleType) -> None:
    names = {name for name, command in generator.commands() if not hasattr(command, "commands")}
    assert set(generator.ENDS) == names
    assert {code for codes in generator.ENDS.values() for code in codes} == set(EXIT_CODES)


def test_every_error_code_is_explained_and_every_explained_one_is_used(generator: ModuleType) -> None:
    assert set(generator.exit_codes_of_errors()) == set(ERROR_CODES)


def test_how_it_proves_names_every_problem_code_and_no_other() -> None:
    text = (DOCS / "how-it-proves.md").read_text(encoding="utf-8")
    cells = re.findall(r"\| ([^|]*) \|$", text, re.MULTILINE)
    named = set(re.findall(r"`([a-z]+(?:-[a-z]+)*)`", " ".join(cells)))
    later = {"stale-process", "other-container", "record-lost", "missing"}
    assert named <= set(PROBLEM_KINDS) | set(ERROR_CODES)
    assert set(PROBLEM_KINDS) - later <= named
    assert all(f"`{code}`" in text for code in later)


def test_every_package_is_described_in_the_architecture() -> None:
    rows = set(re.findall(r"^\| `overlaysync/([a-z]+(?:\.py)?)` \|", ARCHITECTURE, re.MULTILINE))
    assert rows == {file.parent.name for file in SOURCE.glob("*/__init__.py")} | {"errors.py"}


def test_every_request_of_the_agent_is_described() -> None:
    section = ARCHITECTURE.split("## The agent")[1].split("\n## ")[0]
    asked = {
        name for call in calls() if call.name == "_ask" for name in texts(argument(call.node, 0, "name"))
    }
    assert len(asked) > 5
    assert set(re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE)) == {*asked, "piece", "prepare"}


@pytest.mark.parametrize("text", [ARCHITECTURE, CONTRIBUTING], ids=["architecture", "contributing"])
def test_every_path_that_is_named_exists(text: str) -> None:
    paths = set(re.findall(r"`((?:[a-z_.]+/)+[a-z_]*(?:\.py|\.md)?)`", text))
    assert paths
    absent = {path for path in paths if not (PROJECT / path).exists() and not (SOURCE / path).exists()}
    assert absent <= {".venv/bin", "transaction/", "originals/", "previous/"}


def test_every_name_of_the_code_in_the_architecture_exists() -> None:
    packages = "|".join(file.parent.name for file in SOURCE.glob("*/__init__.py"))
    names = set(re.findall(rf"`((?:{packages})\.[\w.]+)`", ARCHITECTURE))
    assert len(names) > 20
    for name in names:
        pkgutil.resolve_name(f"overlaysync.{name}")


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(PROJECT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
