"""Evidence for the image commit: only a full object id proves, everything else is a hint."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence

from overlaysync.core.counting import counted
from overlaysync.model.evidence import Baseline, Evidence
from overlaysync.model.problem import Problem
from overlaysync.model.worktree import ObjectId, Repository

FULL_ID = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
"""An object id of git: 40 hex digits (sha1) or 64 (sha256). Abbreviations depend on the clone."""


SHOWN = ("label", "given")
"""Kinds whose value may be shown whatever it is: everybody who has the image, or typed it, knows it."""

HINT = re.compile(r"(?:[0-9a-f]{4,40}|v?\d+(?:\.\d+){1,3})\Z")
"""An abbreviated id or a version, which may be shown from anywhere."""


def weigh(kind: str, name: str, value: str | None) -> Evidence:
    """One piece of evidence from what stands at its place (None: nothing stands there)."""
    text = value.strip() if value is not None else ""
    commit = ObjectId(text.lower()) if FULL_ID.match(text.lower()) else None
    shown = text if commit is not None or kind in SHOWN or HINT.match(text) else _unshown(text)
    return Evidence(kind=kind, name=name, value=shown or None, commit=commit)


def _unshown(text: str) -> str:
    """What stands in a file or variable that is no commit may be a secret; records hold its length only."""
    return f"{counted(len(text), 'character')}, not shown" if text else ""


def commit_of_direct_url(document: str | None) -> str | None:
    """``vcs_info.commit_id`` of a PEP 610 ``direct_url.json``, or None."""
    try:
        commit = json.loads(document or "{}")["vcs_info"]["commit_id"]
    except (ValueError, KeyError, TypeError):
        return None
    return commit if isinstance(commit, str) else None


def image_commit(evidence: Sequence[Evidence]) -> ObjectId | None:
    """The commit that the evidence names, when all that names one names the same."""
    commits = {item.commit for item in evidence if item.commit is not None}
    return commits.pop() if len(commits) == 1 else None


def judge(
    baseline: Baseline, known: Collection[ObjectId], *, repository: Repository, content: str
) -> list[Problem]:
    """Problems of the baseline's identity.

    ``known``: which of the commits named are in this repository. ``content``: a sentence on how the installed
    files compare with HEAD, to help where no commit is named.
    """
    named = [item for item in baseline.evidence if item.commit is not None]
    if len({item.commit for item in named}) > 1:
        listing = "; ".join(f"{describe(item)} says {item.commit}" for item in named)
        return [
            Problem(
                code="evidence-conflict",
                message=f"evidence disagrees on the image commit: {listing}",
                next_step="find out which is right, and name only that in image-commit of the configuration",
            )
        ]
    if baseline.image_commit is None:
        return [_no_commit(baseline, content)]
    if baseline.image_commit not in known:
        return [_unknown(baseline.image_commit, shallow=repository.shallow)]
    if baseline.image_commit != baseline.head:
        return [
            Problem(
                code="head-differs",
                message=f"HEAD is {baseline.head}, but the image was built from {baseline.image_commit} "
                f"({', '.join(describe(item) for item in named)})",
                next_step="carry your branch's state onto the image commit and push it from there, with the "
                "same options (watch takes --port, too): overlaysync push --port",
            )
        ]
    return []


def judge_overlay(baseline: Baseline, overlaid_on: ObjectId | None) -> list[Problem]:
    """An overlay that is there must have been made on the same image commit, by its own manifest."""
    if overlaid_on is None or baseline.image_commit in (None, overlaid_on):
        return []
    message = (
        f"the overlay in the target was made on image commit {overlaid_on}, "
        f"but the evidence now says {baseline.image_commit}"
    )
    return [Problem("evidence-conflict", message, "take the overlay away first: overlaysync revert")]


def describe(item: Evidence) -> str:
    """Evidence in a few words, for messages: ``label org.opencontainers.image.revision``."""
    return "--image-commit" if item.kind == "given" else f"{item.kind} {item.name}".strip()


def _no_commit(baseline: Baseline, content: str) -> Problem:
    hints = [f"{describe(item)} holds {item.value!r}" for item in baseline.evidence if item.value]
    looked = ", ".join(describe(item) for item in baseline.evidence) or "nowhere"
    hint = f"; {'; '.join(hints)}, which is no full commit id and proves nothing" if hints else ""
    return Problem(
        code="no-image-commit",
        message=f"no full commit id of the image is known (looked at: {looked}){hint}. {content}",
        next_step="name the commit that the image was built from: --image-commit FULL",
    )


def _unknown(commit: ObjectId, *, shallow: bool) -> Problem:
    return Problem(
        code="unknown-commit",
        message=f"the image commit {commit} is not in this repository"
        + (", which is a shallow clone" if shallow else ""),
        next_step="git fetch --unshallow" if shallow else f"git fetch origin {commit}",
    )
