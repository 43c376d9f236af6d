"""What names the image commit, and what only hints at it."""

from __future__ import annotations

import json

import pytest

from overlaysync.core.evidence import commit_of_direct_url, image_commit, judge, judge_overlay, weigh
from overlaysync.model.evidence import Baseline, Evidence
from overlaysync.model.problem import Problem
from overlaysync.model.worktree import ObjectId, Repository

HEAD, OTHER = ObjectId("a1" * 20), ObjectId("b2" * 20)
SHA256_ID = "c3" * 32


@pytest.mark.parametrize(
    ("value", "commit"),
    [
        (HEAD, HEAD),
        (SHA256_ID, SHA256_ID),
        (f"  {HEAD}\n", HEAD),
        (HEAD.upper(), HEAD),
        (HEAD[:39], None),
        (HEAD[:12], None),
        (f"{HEAD}0", None),
        (f"{HEAD}-dirty", None),
        ("g" * 40, None),
        ("v1.2.3", None),
        ("main", None),
        ("", None),
        (None, None),
    ],
)
def test_only_a_full_id_is_evidence(value: str | None, commit: str | None) -> None:
    evidence = weigh("label", "revision", value)
    assert evidence.commit == commit
    assert evidence.value == ((value or "").strip() or None)


@pytest.mark.parametrize(
    ("document", "commit"),
    [
        (json.dumps({"url": "https://example.org/x", "vcs_info": {"vcs": "git", "commit_id": HEAD}}), HEAD),
        (json.dumps({"url": "file:///x.whl", "archive_info": {}}), None),
        (json.dumps({"vcs_info": {"commit_id": 7}}), None),
        (json.dumps({"vcs_info": "git"}), None),
        (json.dumps([HEAD]), None),
        ("{", None),
        ("", None),
        (None, None),
    ],
)
def test_the_commit_of_a_direct_url(document: str | None, commit: str | None) -> None:
    assert commit_of_direct_url(document) == commit


def judged(
    *evidence: Evidence, shallow: bool = False, known: tuple[str, ...] = (HEAD, OTHER)
) -> list[Problem]:
    """Problems with HEAD as the worktree's commit."""
    baseline = Baseline(head=HEAD, image_commit=image_commit(evidence), evidence=evidence)
    commits = [ObjectId(commit) for commit in known]
    repository = Repository("/src/my project", HEAD, "main", None, "sha1", shallow)
    return judge(baseline, commits, repository=repository, content="7 of 9 installed files equal HEAD's")


def label(value: str | None) -> Evidence:
    return weigh("label", "revision", value)


def given(value: str | None) -> Evidence:
    return weigh("given", "--image-commit", value)


@pytest.mark.parametrize(
    "evidence",
    [
        (label(HEAD),),
        (given(HEAD),),
        (label(HEAD), given(HEAD)),
        (label(None), given(HEAD)),
        (label("v1"), given(HEAD)),
    ],
    ids=["label", "given", "both", "no label", "a label that only hints"],
)
def test_evidence_for_head_is_enough(evidence: tuple[Evidence, ...]) -> None:
    assert judged(*evidence) == []


CASES: dict[str, tuple[tuple[Evidence, ...], str, tuple[str, ...]]] = {
    # name: (evidence, the code, what the message has to show)
    "another commit": ((label(OTHER),), "head-differs", (HEAD, OTHER, "label revision")),
    "contradiction": ((label(HEAD), given(OTHER)), "evidence-conflict", (HEAD, OTHER, "--image-commit")),
    "nothing anywhere": ((label(None),), "no-image-commit", ("label revision", "7 of 9")),
    "a short id": ((label(HEAD[:12]),), "no-image-commit", (HEAD[:12], "no full commit id")),
    "no place to look": ((), "no-image-commit", ("nowhere",)),
}


@pytest.mark.parametrize(("evidence", "code", "shown"), CASES.values(), ids=CASES)
def test_anything_else_is_refused_with_what_was_found(
    evidence: tuple[Evidence, ...], code: str, shown: tuple[str, ...]
) -> None:
    (problem,) = judged(*evidence)
    assert (problem.code, problem.path) == (code, None)
    assert all(text in problem.message for text in shown)


def test_a_commit_that_the_repository_lacks_is_fetched_not_guessed() -> None:
    (problem,) = judged(label(OTHER), known=(HEAD,))
    assert (problem.code, problem.next_step) == ("unknown-commit", f"git fetch origin {OTHER}")
    (problem,) = judged(label(OTHER), known=(HEAD,), shallow=True)
    assert problem.next_step == "git fetch --unshallow"


def test_an_overlay_belongs_to_the_commit_it_was_made_on() -> None:
    baseline = Baseline(head=HEAD, image_commit=HEAD, evidence=())
    assert judge_overlay(baseline, None) == judge_overlay(baseline, HEAD) == []
    (problem,) = judge_overlay(baseline, OTHER)
    assert problem.code == "evidence-conflict"
    assert OTHER in problem.message
