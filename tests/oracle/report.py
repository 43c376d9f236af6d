"""Verdicts as text, and as the document ``docs/oracle.md``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.oracle.judging import Outcome, Refusal, Verdict
from tests.oracle.projects import Subject

BY_DESIGN = {
    "binding-change": "a binding may meet compiled code that is older; acknowledged, it is pushed",
    "jit-change": "caches of compiled kernels outlive the edit; acknowledged, it is pushed",
    "jit-input": "what is compiled at run time may be cached from the old input, which no rebuild shows",
    "many-removals": "most of the package is gone, which is asked about",
    "requirement-change": "which of a project's requirement files its image was made from is not known",
    "build-change": "what a changed build file does is known by running it, and a push runs nothing of the "
    "repository",
    "generator-input": "what a generator makes of a changed input is known by running it alone",
    "native-change": "what a compiler makes of a changed source is known by running it alone",
    "unproven-shipping": "nothing at HEAD tells whether a build ships such a file; one line of settings does",
}
"""Why refusals are wanted although the rebuild shows no difference."""

SHOWN = 4
"""So many refusals of one code are told of one push."""

INTRODUCTION = """\
# The rebuild as the judge

For each pair of consecutive releases, both wheels were built by the project's own backend and the first one
was installed. Its sources were committed, the second release's sources laid over the worktree, and
`overlaysync push` called. Then the installed files were compared, one by one, with those of the second wheel.
What only a rebuild makes may be as it was: compiled files, the dist-info, and files that equal no tracked
file. Every push was reverted, and had to leave what was there before.

Where a push was refused, the refused paths were taken out of the worktree and the rest was pushed; it had to
become what a build of exactly that tree installs. A refusal is **borne out** where the second wheel would be
another one without the refused change, besides the copy of the changed file itself: other compiled files,
requirements, entry points, tags, generated files, or another set of files.

This page is written by

```sh
python -m tests.oracle.judge --all
```

and any other project is judged by one of

```sh
python -m tests.oracle.judge --project NAME --releases "1.0 1.1 1.2"
python -m tests.oracle.judge --project NAME --repository DIRECTORY --commits "v1.0 v1.1"
python -m tests.oracle.judge --project NAME --trees BEFORE AFTER
```

Builds and downloads are kept in a folder of the temporary directory (`--keep`), outside of any checkout. A
short selection runs with the tests, and random edits are judged there as well: `OVERLAYSYNC_EXAMPLES=500
pytest tests/oracle/test_edits.py` tries more of them.
"""


def as_text(verdict: Verdict) -> str:
    """One verdict, for the terminal."""
    lines = [
        f"{verdict.project} {verdict.before} -> {verdict.after}: {verdict.outcome.value}{_rest(verdict)}"
    ]
    if verdict.reason:
        lines.append(f"    {verdict.reason}")
    lines += [f"    wrong: {text}" for text in verdict.wrong]
    for refusal in verdict.refusals:
        shown = "; ".join(refusal.evidence) or "NOT BORNE OUT"
        lines.append(f"    {refusal.code} {refusal.path or ''}: {refusal.message[:150]}  [{shown}]")
    lines += [f"    left out: {text}" for text in verdict.left_out]
    return "\n".join(lines)


def _rest(verdict: Verdict) -> str:
    if not verdict.refusals or verdict.wrong:
        return ""
    return ", the rest equal" if verdict.rest_equal else ", the rest does not build alone"


def as_document(subjects: Sequence[Subject], verdicts: Sequence[Verdict]) -> str:
    """The page: the table, each unneeded refusal with its reason, and what could not be judged."""
    parts = [
        INTRODUCTION,
        _table(subjects, verdicts),
        "## Refused, and not borne out\n\nEach with why it is refused all the same.\n",
        _listed(_unneeded(verdicts)),
        "## Not judged\n",
        _listed(
            f"{verdict.project} {verdict.before} → {verdict.after}: {_one_line(verdict.reason)}"
            for verdict in verdicts
            if verdict.outcome is Outcome.SKIPPED
        ),
    ]
    return "\n".join(parts)


def _table(subjects: Sequence[Subject], verdicts: Sequence[Verdict]) -> str:
    lines = [
        "| package | backend, layout | here for | releases | pushes | equal | refused, borne out | "
        "refused, not borne out | wrong |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for subject in subjects:
        own = [verdict for verdict in verdicts if verdict.project == subject.project.name]
        first, last = subject.releases[0], subject.releases[-1]
        cells = [subject.project.name, subject.backend, subject.shows, f"{first} to {last}", *_counts(own)]
        lines.append(f"| {' | '.join(cells)} |")
    lines.append(f"| **all** |  |  |  | {' | '.join(_counts(verdicts))} |")
    rest = [verdict for verdict in verdicts if verdict.refusals and verdict.outcome is not Outcome.WRONG]
    equal = sum(verdict.rest_equal for verdict in rest)
    lines.append(
        f"\nOf {len(rest)} refused pushes the rest was pushed, and equal, in {equal}; in the others no "
        "rest builds without what was refused.\n"
    )
    return "\n".join(lines)


def _counts(verdicts: Sequence[Verdict]) -> list[str]:
    judged = [verdict for verdict in verdicts if verdict.outcome is not Outcome.SKIPPED]
    outcomes = (Outcome.EQUAL, Outcome.REFUSED, Outcome.UNNEEDED, Outcome.WRONG)
    counts = [sum(verdict.outcome is outcome for verdict in judged) for outcome in outcomes]
    return [str(count) for count in (len(judged), *counts)]


def _unneeded(verdicts: Iterable[Verdict]) -> Iterable[str]:
    for verdict in verdicts:
        by_code: dict[str, list[Refusal]] = {}
        for refusal in verdict.unneeded:
            by_code.setdefault(refusal.code, []).append(refusal)
        for code, refusals in by_code.items():
            said = "; ".join(_refusal(refusal) for refusal in refusals[:SHOWN])
            more = f"; and {len(refusals) - SHOWN} more paths" if refusals[SHOWN:] else ""
            reason = BY_DESIGN.get(code, "a defect")
            push = f"{verdict.project} {verdict.before} → {verdict.after}"
            yield f"{push}, `{code}`: {said}{more}. *Why: {reason}.*"


def _refusal(refusal: Refusal) -> str:
    where = f"`{refusal.path}` " if refusal.path else ""
    return f"{where}({_one_line(refusal.message)})"


def _one_line(text: str, limit: int = 160) -> str:
    line = " ".join(text.split()).replace("<", "&lt;").replace("*", "\\*")
    return line if len(line) <= limit else line[:limit] + "…"


def _listed(items: Iterable[str]) -> str:
    return "".join(f"- {item}\n" for item in items) or "None.\n"
