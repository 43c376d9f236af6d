"""Many changes are judged as each is by itself, and a change is judged anew when its content is another."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import pytest

from overlaysync.app import judging
from overlaysync.app.judged_cache import KIND, WORTH_KEEPING, judged_cache
from overlaysync.app.judging import WORTH_A_CORE, as_judged, classify_changes
from overlaysync.core.classify import classify
from overlaysync.model.classified import ClassifiedChange
from overlaysync.model.worktree import Change
from overlaysync.worktree.worktree import open_worktree
from tests.parts.repositories import Repository

COUNT = 4 * WORTH_A_CORE
BINDING = 'import torch\n\n\ndef load():\n    torch.ops.load_library("{}.so")\n'
BROKEN = "def broken({}:\n"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "repository")
    for number in range(COUNT):
        repository.write(name(number), f"A = {number}\n")
    repository.commit()
    for number in range(COUNT):
        repository.write(name(number), text(number))
    return repository


def name(number: int) -> str:
    return f"pkg/module_{number:03}.py"


def text(number: int) -> str:
    """What a file is changed to: a binding in some, no Python in others, else one line."""
    return {0: BINDING, 1: BROKEN}.get(number % 5, "B = {}\n").format(number)


def codes(classified: tuple[ClassifiedChange, ...]) -> dict[str, list[str]]:
    return {item.change.path: [problem.code for problem in item.problems] for item in classified}


@pytest.mark.parametrize("capture", [False, True])
def test_many_changes_are_judged_as_few_are(repository: Repository, capture: bool) -> None:
    for number in range(COUNT):  # in no other test, of which the judgement would be remembered
        repository.write(name(number), f"{text(number)}# {capture}\n")
    with open_worktree(repository.path, capture=capture) as worktree:
        snapshot = worktree.snapshot()
        classified, unstable = classify_changes(snapshot, worktree, ())
        assert worktree.blob(snapshot.changes[0].head.oid) == b"A = 0\n"  # type: ignore[union-attr]
    expected = {0: ["binding-change"], 1: ["syntax-error"]}
    assert codes(classified) == {name(number): expected.get(number % 5, []) for number in range(COUNT)}
    assert unstable == []


def test_what_changes_meanwhile_is_told_by_name(repository: Repository) -> None:
    for number in range(COUNT):
        repository.write(name(number), f"NEVER_JUDGED_BEFORE = {number}\n")
    with open_worktree(repository.path) as worktree:
        snapshot = worktree.snapshot()
        for number in (2, COUNT - 2):
            repository.write(name(number), "C = 1\n")
        classified, unstable = classify_changes(snapshot, worktree, ())
    assert [problem.path for problem in unstable] == [name(2), name(COUNT - 2)]
    assert {problem.code for problem in unstable} == {"unstable-file"}
    assert len(classified) == COUNT - 2


def test_a_change_of_equal_size_is_judged_anew(repository: Repository) -> None:
    found = []
    for written in ("import os\n", "import o(\n", "import os\n"):
        repository.write(name(2), written)
        with open_worktree(repository.path) as worktree:
            classified, _ = classify_changes(worktree.snapshot(), worktree, ())
            found.append(codes(classified)[name(2)])
    assert found == [[], ["syntax-error"], []]


def test_other_patterns_are_another_question(repository: Repository) -> None:
    repository.write("csrc/a.cu", "int a;\n")
    with open_worktree(repository.path) as worktree:
        snapshot = worktree.snapshot()
        judged = [classify_changes(snapshot, worktree, patterns)[0] for patterns in ((), ("/csrc/",), ())]
    assert [codes(classified)["csrc/a.cu"] for classified in judged] == [
        ["native-change"],
        [],
        ["native-change"],
    ]


class Asked:
    """Which paths were judged, and not recalled."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, repository: Repository, cache: Path) -> None:
        self.repository, self.cache = repository, cache
        self.paths: list[str] = []
        real = classify

        def noted(change: Change, *rest: bytes | None, **options: Any) -> ClassifiedChange:
            self.paths.append(change.path)
            return real(change, *rest, **options)

        monkeypatch.setattr(judging, "classify", noted)
        monkeypatch.setattr(judging, "WORTH_A_CORE", 1000)

    def anew(self, *patterns: str) -> dict[str, list[str]]:
        """The codes that another process finds."""
        judged_cache.cache_clear()
        self.paths.clear()
        with open_worktree(self.repository.path) as worktree:
            return codes(classify_changes(worktree.snapshot(), worktree, patterns, self.cache)[0])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, repository: Repository, tmp_path: Path) -> Asked:
    return Asked(monkeypatch, repository, tmp_path / "cache")


UNSURE = [f"pkg/module_{number:03}.py" for number in range(COUNT) if number % 5 == 1]
"""No Python, says a parser that may have had too little memory: they are judged each time."""


def test_another_run_recalls_all_but_what_is_another_content(asked: Asked) -> None:
    first = asked.anew()
    assert len(asked.paths) == COUNT
    assert asked.anew() == first
    assert asked.paths == UNSURE
    asked.repository.write(name(3), BINDING.format("other"))
    assert asked.anew() == {**first, name(3): ["binding-change"]}
    assert sorted(asked.paths) == sorted([*UNSURE, name(3)])
    assert asked.anew()[name(3)] == ["binding-change"]
    assert asked.paths == UNSURE


def test_what_was_loaded_judges_and_not_what_lies_there_by_now(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is up during an upgrade keeps nothing for the new version."""
    with monkeypatch.context() as patch:
        patch.setattr("overlaysync.app.judged_cache.mark", lambda _: "the new version's")
        asked.anew()
    assert list(asked.cache.glob(f"{KIND}-*")) == []
    asked.anew()
    assert len(list(asked.cache.glob(f"{KIND}-*"))) == 1


def test_another_head_patterns_or_code_of_ours_are_judged_anew(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked.anew()
    asked.anew("/csrc/")
    assert len(asked.paths) == COUNT
    with monkeypatch.context() as patch:
        patch.setattr("overlaysync.app.judged_cache.JUDGE", "another state")
        asked.anew()
        assert len(asked.paths) == COUNT
    asked.repository.commit()
    for number in range(COUNT):
        asked.repository.write(name(number), text(number) + "# more\n")
    asked.anew()
    assert len(asked.paths) == COUNT
    asked.repository.git("reset", "--quiet", "--soft", "HEAD~1")
    assert asked.anew()[name(0)] == ["binding-change"]
    assert len(asked.paths) == COUNT


@pytest.mark.parametrize("content", [b"", b"nonsense", None])
def test_a_file_that_is_none_is_no_cache(asked: Asked, content: bytes | None) -> None:
    first = asked.anew()
    [file] = asked.cache.glob(f"{KIND}-*")
    file.write_bytes(file.read_bytes()[:-1] if content is None else content)
    assert asked.anew() == first
    assert len(asked.paths) == COUNT


def test_a_few_changes_are_not_kept(asked: Asked) -> None:
    for number in range(WORTH_KEEPING - 1, COUNT):
        asked.repository.git("checkout", "--", name(number))
    asked.anew()
    assert list(asked.cache.glob(f"{KIND}-*")) == []


def test_a_name_that_cannot_be_written_is_judged_each_time(asked: Asked) -> None:
    odd = b"pkg/\xff.py".decode("utf-8", "surrogateescape")
    asked.repository.write(odd, "A = 1\n")
    asked.anew()
    asked.anew()
    assert sorted(asked.paths) == sorted([*UNSURE, odd])


@pytest.mark.parametrize(
    ("target", "told"),
    [(None, False), (platform.python_version(), False), ("2.7.18", True), ("unknown", True)],
)
def test_which_python_judged_is_said_where_the_targets_is_another(
    repository: Repository, target: str | None, told: bool
) -> None:
    with open_worktree(repository.path) as worktree:
        classified, _ = classify_changes(worktree.snapshot(), worktree, ())
    [problem] = next(item.problems for item in as_judged(classified, target) if item.change.path == name(1))
    assert problem.code == "syntax-error"
    assert ("judged by this host's Python" in problem.message, f"is {target})" in problem.message) == (
        told,
        told,
    )
    assert ("--acknowledge syntax" in problem.next_step) == told
    assert problem.certain is not told
    assert problem.next_step.startswith("correct it")
    assert problem.next_step.endswith(f", or undo: git stash push -- {name(1)}")


def test_a_target_of_the_same_minor_version_has_the_same_grammar(repository: Repository) -> None:
    target = platform.python_version().rpartition(".")[0] + ".99"
    with open_worktree(repository.path) as worktree:
        classified, _ = classify_changes(worktree.snapshot(), worktree, ())
    assert not [
        item
        for item in as_judged(classified, target)
        for problem in item.problems
        if "judged by" in problem.message
    ]
