"""The judge itself: it tells right from wrong, and needed refusals from others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.oracle.building import BuildFailedError, Workshop
from tests.oracle.judge import main
from tests.oracle.judging import Judge, Outcome, Project, State, Verdict
from tests.oracle.projects import SUBJECTS
from tests.oracle.report import as_document
from tests.oracle.small_project import PYPROJECT, small
from tests.oracle.trees import read_directory, write_tree

Changes = Mapping[str, str | None]
JudgeChanges = Callable[[Changes], Verdict]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("workshop"))


@pytest.fixture
def judge(workshop: Workshop, tmp_path: Path) -> JudgeChanges:
    """Judges the push of changes onto the small project."""

    def judge_changes(changes: Changes) -> Verdict:
        states = State("before", small()), State("after", small(changes))
        return Judge(workshop, tmp_path).judge(Project("small"), *states)

    return judge_changes


PYTHON: Changes = {"small/core.py": "NUMBER = 2\n", "small/new.py": "", "small/extra.py": None}
REQUIREMENT: Changes = {"pyproject.toml": PYPROJECT.replace("attrs>=20", "attrs>=21")}


def test_what_a_rebuild_installs_is_equal(judge: JudgeChanges) -> None:
    verdict = judge({**PYTHON, "small/data.json": "[]\n", "README.md": "new\n"})
    assert (verdict.outcome, verdict.wrong, verdict.refusals) == (Outcome.EQUAL, (), ())


@pytest.mark.parametrize(
    ("changes", "path"),
    [({"small/hidden_new.py": ""}, "small/hidden_new.py"), ({"small/first.txt": "a\n"}, "small/first.txt")],
    ids=["the rebuild does not install it", "the overlay does not hold it"],
)
def test_what_a_rebuild_has_otherwise_is_wrong(judge: JudgeChanges, changes: Changes, path: str) -> None:
    verdict = judge({**PYTHON, **changes})
    assert verdict.outcome is Outcome.WRONG
    assert [text.partition(":")[0] for text in verdict.wrong] == [path]


@pytest.mark.parametrize(
    ("changes", "evidence"),
    [(REQUIREMENT, "requirements: attrs>=20, attrs>=21"), ({"grammar.g4": "b\n"}, "files: small/_made.py")],
)
def test_a_refusal_is_borne_out_by_the_wheels(judge: JudgeChanges, changes: Changes, evidence: str) -> None:
    verdict = judge({**PYTHON, **changes})
    assert verdict.outcome is Outcome.REFUSED
    assert [refusal.evidence for refusal in verdict.refusals] == [(evidence,)]
    assert verdict.rest_equal


UNNEEDED: Changes = {"requirements/build.txt": "build==2.0\n"}


def test_a_refusal_that_makes_no_difference_is_not_borne_out(judge: JudgeChanges) -> None:
    verdict = judge({**PYTHON, **UNNEEDED})
    assert verdict.outcome is Outcome.UNNEEDED
    assert [(refusal.code, refusal.path) for refusal in verdict.unneeded] == [
        ("requirement-change", "requirements/build.txt")
    ]
    assert verdict.rest_equal


def test_each_refusal_has_its_own_evidence(judge: JudgeChanges) -> None:
    verdict = judge({**REQUIREMENT, **UNNEEDED})
    assert verdict.outcome is Outcome.REFUSED
    assert [refusal.path for refusal in verdict.unneeded] == ["requirements/build.txt"]


def test_the_rest_is_judged_too(judge: JudgeChanges) -> None:
    verdict = judge({**REQUIREMENT, "small/hidden_new.py": ""})
    assert (verdict.outcome, verdict.rest_equal) == (Outcome.WRONG, False)


def test_what_does_not_build_is_not_judged(judge: JudgeChanges, workshop: Workshop) -> None:
    broken = small({"backend.py": "raise RuntimeError('error: no such day')\n"})
    with pytest.raises(BuildFailedError, match="no such day"):
        workshop.wheel(broken, "small")
    verdict = judge({"backend.py": "raise RuntimeError('error: no such day')\n"})
    assert verdict.outcome is Outcome.SKIPPED
    assert "no such day" in verdict.reason


def test_any_two_directories_are_judged(tmp_path: Path) -> None:
    write_tree(small(), tmp_path / "before")
    write_tree(small(PYTHON), tmp_path / "after")
    assert read_directory(tmp_path / "after") == small(PYTHON)
    trees = [str(tmp_path / "before"), str(tmp_path / "after")]
    arguments = ["--project", "small", "--keep", str(tmp_path / "kept"), "--trees", *trees]
    result = CliRunner().invoke(main, arguments)
    assert (result.exit_code, result.output) == (0, f"small {trees[0]} -> {trees[1]}: equal\n")


def test_the_table_counts_and_lists(judge: JudgeChanges) -> None:
    verdict = judge(UNNEEDED)
    subject = SUBJECTS[0]._replace(project=Project("small"), releases=("before", "after"))
    document = as_document([subject], [verdict])
    assert "| before to after | 1 | 0 | 0 | 1 | 0 |" in document
    assert "small before → after, `requirement-change`: `requirements/build.txt` (" in document
