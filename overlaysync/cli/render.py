"""Results as a person reads them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from overlaysync.cli.terminal import Terminal, clean
from overlaysync.core.counting import counted

if TYPE_CHECKING:
    from overlaysync.model.result import Result, ResultBaseline, ResultOperation, ResultProblem

NOTES = (
    "recovered",
    "not_recorded_here",
    "overlaid_from",
    "evidence",
    "mapping",
    "left_out",
    "ignored",
    "mode_only",
    "hidden",
    "unmet",
    "companions",
    "missing",
    "absent",
    "generated",
    "hooks",
    "notes",
    "workload_ignored",
)
"""Lists of a result's details that people are shown, in this order."""
HEADINGS = {"hooks": "start-up hooks", "workload_ignored": "ignored by workload-ignore"}
"""Of those whose name alone does not say it."""

_MARKS = {
    "applied": ("✓", "good"),
    "unchanged": ("✓", "good"),
    "planned": ("•", "warn"),
    "refused": ("✗", "bad"),
    "failed": ("✗", "bad"),
}
FACT = 10
"""Columns of the name of a fact."""

SHOWN = 12
FEW = 3
"""So many problems of one kind show each its own next step; of more, the first one's stands for all. So many
files stand on one line; more are counted."""


def render(result: Result, terminal: Terminal) -> None:
    """The whole result: where, baseline, operations, what else is known, problems, and the outcome last.

    Of several targets each one's whole result, and the outcome of all last.
    """
    for one in result.targets:
        terminal.gap()
        render(one, terminal)
    if result.targets:
        _outcome_of_all(result, terminal)
        return
    _place(result, terminal)
    if result.baseline is not None:
        _baseline(result.baseline, terminal)
    _overlay(result.details.get("overlay", ()), terminal)
    _checks(result, terminal)
    _operations(result, terminal)
    _lists(result, terminal)
    _problems(result, terminal)
    _outcome(result, terminal)


def _place(result: Result, terminal: Terminal) -> None:
    target = result.target
    if target is None:
        return
    details = result.details
    container = f" ({target.container_id[:12]})" if target.container_id else ""
    python = f"{target.interpreter or ''} {details.get('python', '')}".strip()
    found = f" · {details['found_by']}" if details.get("found_by") else ""
    fact("target", f"{target.kind}:{target.name}{container}{found}", terminal)
    if details.get("distribution"):
        fact("package", " · ".join(part for part in (details["distribution"], python) if part), terminal)
    elif python:
        fact("python", python, terminal)
    if details.get("install_root"):
        fact("in", details["install_root"], terminal)


def fact(name: str, text: str, terminal: Terminal) -> None:
    """A named line at the head of a result; what is long goes on below itself."""
    terminal.line(clean(f"{name:<{FACT}}{text}"), hang=FACT)


def _baseline(baseline: ResultBaseline, terminal: Terminal) -> None:
    from overlaysync.core.evidence import describe

    proof = [describe(item) for item in baseline.evidence if item.commit == baseline.image_commit]
    commit = baseline.image_commit[:12] if baseline.image_commit else "unknown"
    evidence = f" ({', '.join(proof)})" if baseline.image_commit and proof else ""
    fact("baseline", f"HEAD {baseline.head[:12]} · image commit {commit}{evidence}", terminal)
    content = baseline.content
    overlaid = f", {content.overlaid} overlaid" if content.overlaid else ""
    files = counted(content.compared, "installed file")
    fact("content", f"{content.equal} of {files} equal{overlaid}", terminal)


def tell_more(left: int, terminal: Terminal) -> None:
    """How many there are that are not shown."""
    if left > 0:
        terminal.line(f"  {_more(left)}")


def _more(left: int) -> str:
    return f"… and {left} more (all of them: --json)"


def _overlay(destinations: Sequence[str], terminal: Terminal) -> None:
    """What the target holds of a worktree, below the install root."""
    if destinations:
        left = len(destinations) - FEW
        told = f", {_more(left)}" if left > 0 else ""
        fact("overlay", ", ".join(destinations[:FEW]) + told, terminal)


def _checks(result: Result, terminal: Terminal) -> None:
    """What ``doctor`` looked at, one line each; a remedy below what is not well."""
    for check in result.details.get("checks", ()):
        mark = terminal.styled("✓", "good") if check["well"] else terminal.styled("✗", "bad")
        terminal.line(f"{mark} {check['name']}: {clean(check['found'])}")
        if check["remedy"]:
            terminal.line(f"  → {clean(check['remedy'])}")


def _operations(result: Result, terminal: Terminal) -> None:
    if not result.operations:
        return
    terminal.gap()
    root = result.details.get("install_root", "")
    rows = [
        (item.action, item.change_class, _from_and_to(item, root), clean(item.cause))
        for item in result.operations
    ]
    terminal.rows(rows[: SHOWN * 4])
    tell_more(len(rows) - SHOWN * 4, terminal)


def _from_and_to(operation: ResultOperation, root: str) -> str:
    """The source; with the destination, below the install root, where that is another path."""
    destination = operation.destination.removeprefix(root + "/")
    if destination == operation.source:
        return clean(destination)
    return clean(f"{operation.source} → {destination}")


def _lists(result: Result, terminal: Terminal) -> None:
    lists = {name: result.details.get(name) for name in NOTES}
    if result.command == "push":
        for name in ("absent", "generated", "hooks"):
            lists.pop(name)  # nothing that a push would change; status and init tell it
    if result.not_packaged:
        lists["not_packaged"] = list(result.not_packaged)
    for name, value in lists.items():
        entries = [value] if isinstance(value, str) else list(value or ())
        if not entries:
            continue
        terminal.gap()
        terminal.line(f"{HEADINGS.get(name, name.replace('_', ' '))}:", "dim")
        for entry in entries[:SHOWN]:
            terminal.line(f"  {clean(str(entry))}")
        tell_more(len(entries) - SHOWN, terminal)


def _problems(result: Result, terminal: Terminal) -> None:
    """Grouped by code; of many alike the first are shown, and a remedy that is the same is read once."""
    if result.command == "doctor":
        return  # its checks say it all
    groups: dict[str, list[ResultProblem]] = defaultdict(list)
    for problem in result.problems:
        groups[problem.code].append(problem)
    for code, problems in groups.items():
        terminal.gap()
        terminal.line(code, "bad")
        same = len({problem.next_step for problem in problems}) == 1 or len(problems) > FEW
        for problem in problems[:SHOWN]:
            path = f"{clean(problem.path)}: " if problem.path and problem.path not in problem.message else ""
            terminal.line(f"  {path}{clean(problem.message)}")
            if problem.next_step and not same:
                terminal.line(f"  → {clean(problem.next_step)}")
        tell_more(len(problems) - SHOWN, terminal)
        if problems[0].next_step and same:
            terminal.line(f"  → {clean(problems[0].next_step)}")
            if len({problem.next_step for problem in problems}) > 1:
                terminal.line("    for the first one; each has its own (all of them: --json)")


def _outcome_of_all(result: Result, terminal: Terminal) -> None:
    """What came of which, the gravest first."""
    from overlaysync.core.several import WORST_FIRST

    names: dict[str, list[str]] = defaultdict(list)

    def gravity(one: Result) -> tuple[int, int, bool]:
        return -one.exit_code, WORST_FIRST.index(one.outcome), _end_of(one) == "held back"

    for one in sorted(result.targets, key=gravity):
        names[_end_of(one)].append(clean(one.target.name) if one.target is not None else "")
    ways = [f"{end} in {', '.join(those)}" for end, those in names.items()]
    if len(names) == 1:
        ways = [f"{next(iter(names))} in all {len(result.targets)} targets"]
    told = f" · exit {result.exit_code}" if result.exit_code else ""
    terminal.gap()
    mark = _MARKS["failed" if result.exit_code else result.outcome]
    terminal.line(f"{terminal.styled(*mark)} {'; '.join(ways)}{told}")


def _end_of(one: Result) -> str:
    """How one of several targets ended, in few words."""
    from overlaysync.core.several import is_held_back

    if is_held_back(one):
        return "held back"
    if one.exit_code == 1:
        return "findings"
    return _done(one) if one.outcome == "applied" else one.outcome


def _done(result: Result) -> str:
    return "reverted" if result.command == "revert" else "applied"


def _outcome(result: Result, terminal: Terminal) -> None:
    files = counted(len(result.operations), "file")
    milliseconds = result.timings_ms.get("total", 0.0)
    took = f" · {milliseconds / 1000:.2f} s" if milliseconds else ""
    sentences = {
        "applied": f"{_done(result)}: {files}, read back; what Python imports is proven{took}",
        "unchanged": f"nothing to do{took}",
        "planned": f"planned: {files}; nothing was written",
        "refused": f"refused: nothing was written (exit {result.exit_code})",
        "failed": f"failed (exit {result.exit_code})",
    }
    (mark, style), sentence = _MARKS[result.outcome], sentences[result.outcome]
    if result.command == "status" and result.problems and result.outcome in ("planned", "unchanged"):
        ways = counted(len(result.problems), "problem")
        told = "exit 1" if result.exit_code else "exit 0; 1 with --check"  # the mark says the same
        mark, style, sentence = "•", "warn", f"{ways} in the way of a push, {files} planned ({told})"
    if left_out := result.details.get("left_out"):
        sentence += f" · {len(left_out)} left out"
    if _end_of(result) == "held back":
        sentence = f"held back (exit {result.exit_code})"
    sentence = result.details.get("sentence") or sentence
    if result.exit_code == 1:
        mark, style = "✗", "bad"
    elif "compared" in result.details and (result.problems or not result.details["compared"]):
        mark, style = "•", "warn"  # a ✓ would read like a proof
    terminal.gap()
    if result.command == "init":
        for line in result.details["configuration"].split("\n"):
            terminal.line(clean(line))
    terminal.line(f"{terminal.styled(mark, style)} {clean(sentence)}")
    if result.manifest is not None:
        terminal.line(f"  manifest {clean(result.manifest)}")
