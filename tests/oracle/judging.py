"""The judge: two states of a project, both built, the first one installed, the second one pushed."""

from __future__ import annotations

import enum
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from overlaysync.model.problem_kinds import PROBLEM_KINDS
from tests.oracle.building import BuildFailedError, Workshop
from tests.oracle.contents import WheelContents, content_id, differences, read_wheel
from tests.oracle.overlaid import Answer, Installation, deviations
from tests.oracle.trees import Tree, with_paths_of

ROUNDS = 4
"""After what was refused is taken out of the worktree, further problems may show; no more often than this."""

ONE_BY_ONE = ("build-change", "requirement-change")
"""Codes whose paths are judged each by itself; the paths of any other code are judged together."""


class Project(NamedTuple):
    """What is judged.

    ``untracked``: gitignore patterns of what the release holds and the repository does not.
    ``configuration``: an ``overlaysync.toml``, where the project needs one.
    """

    name: str
    untracked: tuple[str, ...] = ()
    configuration: str = ""


class State(NamedTuple):
    """One of the two states."""

    label: str
    tree: Tree


class Refusal(NamedTuple):
    """A problem that push reported, and what a rebuild shows of it: nothing, where it is unneeded."""

    code: str
    path: str | None
    message: str
    evidence: tuple[str, ...]


class Outcome(str, enum.Enum):
    EQUAL = "equal"
    REFUSED = "refused, borne out"
    UNNEEDED = "refused, not borne out"
    WRONG = "wrong"
    SKIPPED = "skipped"


@dataclass
class Verdict:
    """What became of one push.

    ``rest_equal``: what was left of a refused change arrived as the rebuild has it.
    """

    project: str
    before: str
    after: str
    outcome: Outcome
    reason: str = ""
    refusals: tuple[Refusal, ...] = ()
    wrong: tuple[str, ...] = ()
    rest_equal: bool = False
    left_out: tuple[str, ...] = field(default=())

    @property
    def unneeded(self) -> tuple[Refusal, ...]:
        return tuple(refusal for refusal in self.refusals if not refusal.evidence)


class Judge:
    """Judges pushes by rebuilds.

    Args:
        workshop: builds the wheels.
        scratch: where environments and worktrees are made (default: the system's temporary directory).
    """

    def __init__(self, workshop: Workshop, scratch: Path | None = None) -> None:
        self._workshop = workshop
        self._scratch = scratch

    def judge(self, project: Project, before: State, after: State) -> Verdict:
        """The verdict on pushing ``after`` onto the wheel of ``before``."""
        try:
            wheels = [self._workshop.wheel(state.tree, project.name) for state in (before, after)]
        except BuildFailedError as error:
            reason = f"does not build here: {error}"
            return Verdict(project.name, before.label, after.label, Outcome.SKIPPED, reason)
        with tempfile.TemporaryDirectory(prefix="overlaysync-oracle-", dir=self._scratch) as directory:
            installation = Installation(
                Path(directory),
                project.name,
                wheels[0],
                before.tree,
                project.configuration,
                project.untracked,
            )
            case = _Case(self._workshop, project, before, after, installation, read_wheel(wheels[0]))
            return case.run(read_wheel(wheels[1]))


class _Case:
    """One push, and as many further ones as it takes until nothing is refused."""

    def __init__(
        self,
        workshop: Workshop,
        project: Project,
        before: State,
        after: State,
        installation: Installation,
        original: WheelContents,
    ) -> None:
        self._workshop = workshop
        self._project = project
        self._before, self._after = before, after
        self._installation = installation
        self._original = original
        self._refused: dict[tuple[str, str | None], Mapping[str, Any]] = {}
        self._acknowledged: set[str] = set()

    def run(self, rebuilt: WheelContents) -> Verdict:
        verdict = Verdict(self._project.name, self._before.label, self._after.label, Outcome.EQUAL)
        untouched = self._installation.files()
        tree, answer = self._after.tree, Answer("refused", 0, (), ())
        for _ in range(ROUNDS):
            self._installation.change(tree)
            answer = self._installation.push(self._acknowledged)
            if answer.outcome != "refused":
                break
            if self._installation.files() != untouched:
                verdict.wrong += ("a refused push wrote into the target",)
            if not self._take_out(answer.problems):
                break
            tree = with_paths_of(self._after.tree, self._before.tree, self._refused_paths())
        verdict.left_out = answer.left_out
        if answer.outcome in ("applied", "unchanged"):
            expected = rebuilt if tree is self._after.tree else self._build(tree)
            if expected is not None:
                verdict.wrong += self._compare(expected)
                verdict.rest_equal = not verdict.wrong
            verdict.wrong += self._revert(untouched)
        elif answer.outcome != "refused":
            verdict.wrong += (f"push ended as {answer.outcome}: {answer.problems}",)
        verdict.refusals = self._judge_refusals(rebuilt)
        verdict.outcome = _outcome(verdict)
        return verdict

    def _take_out(self, problems: Iterable[Mapping[str, Any]]) -> bool:
        """Remember what was refused; whether a further push can go on without it."""
        known = len(self._refused)
        for problem in problems:
            self._refused.setdefault((problem["code"], problem["path"]), problem)
            risk = PROBLEM_KINDS[problem["code"]].acknowledge
            if risk is not None:
                self._acknowledged.add(risk)
        return len(self._refused) > known

    def _refused_paths(self) -> list[str]:
        """Paths that are kept as they were; what the user may acknowledge is pushed all the same."""
        return [
            path
            for code, path in self._refused
            if path is not None and PROBLEM_KINDS[code].acknowledge is None
        ]

    def _compare(self, expected: WheelContents) -> tuple[str, ...]:
        """Deviations from the rebuild of exactly what was pushed."""
        return deviations(
            self._installation.files(),
            self._original,
            expected,
            set(self._installation.tracked.values()),
            set(self._installation.sources().values()),
        )

    def _revert(self, untouched: Mapping[str, bytes]) -> tuple[str, ...]:
        outcome = self._installation.revert()
        if self._installation.files() == untouched:
            return ()
        return (f"revert ({outcome}) did not bring the installed files back",)

    def _build(self, tree: Tree) -> WheelContents | None:
        """The wheel of a mixture of both states; None where there can be none."""
        try:
            return read_wheel(self._workshop.wheel(tree, self._project.name))
        except BuildFailedError:
            return None

    def _judge_refusals(self, rebuilt: WheelContents) -> tuple[Refusal, ...]:
        """Each problem with its evidence: what the rebuilt wheel lacks when just that is taken back."""
        groups = _groups(self._refused)
        together = self._evidence([path for group in groups for path in group], rebuilt)
        compiled = tuple(text for text in differences(self._original, rebuilt) if text.startswith("compiled"))
        found = []
        for group, problems in groups.items():
            evidence = together if not together or len(groups) == 1 else self._evidence(group, rebuilt)
            for item in problems:
                code, path = item["code"], item["path"]
                shown = _relevant(evidence, code, [other["code"] for other in problems])
                if path is None or PROBLEM_KINDS[code].acknowledge is not None:
                    # not about a rebuild of this path: it may run against compiled code that is older
                    shown = compiled if code == "binding-change" else ()
                found.append(Refusal(code, path, item["message"], shown))
        return tuple(found)

    def _evidence(self, paths: Sequence[str], rebuilt: WheelContents) -> tuple[str, ...]:
        """How the rebuilt wheel differs when these paths stay as they were, besides their own copies."""
        if not paths:
            return ()
        without = self._build(with_paths_of(self._after.tree, self._before.tree, paths))
        if without is None:
            return ("the rest does not build without it",)
        trees = (self._before.tree, self._after.tree)
        own = {content_id(tree[path].content) for tree in trees for path in paths if path in tree}
        return differences(without, rebuilt, own)


def _groups(
    refused: Mapping[tuple[str, str | None], Mapping[str, Any]],
) -> dict[tuple[str, ...], list[Mapping[str, Any]]]:
    """Problems by the paths that are judged together."""
    by_key: dict[tuple[str, str | None], list[Mapping[str, Any]]] = {}
    for (code, path), problem in refused.items():
        by_key.setdefault((code, path if code in ONE_BY_ONE else None), []).append(problem)
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for problems in by_key.values():
        paths = tuple(sorted({problem["path"] for problem in problems if problem["path"]}))
        groups.setdefault(paths, []).extend(problems)
    return groups


def _relevant(evidence: tuple[str, ...], code: str, codes: Collection[str]) -> tuple[str, ...]:
    """Requirements bear out a refusal for them, and where there is one, no other of the same path."""
    about = tuple(text for text in evidence if text.startswith("requirements"))
    if code == "requirement-change":
        return about
    return (
        tuple(text for text in evidence if text not in about) if "requirement-change" in codes else evidence
    )


def _outcome(verdict: Verdict) -> Outcome:
    if verdict.wrong:
        return Outcome.WRONG
    if not verdict.refusals:
        return Outcome.EQUAL
    return Outcome.UNNEEDED if len(verdict.unneeded) == len(verdict.refusals) else Outcome.REFUSED
