"""Commands that a next step names, as they are to be typed for the targets and the worktree in question."""

from __future__ import annotations

import re
import shlex

from msgspec import Struct, structs

from overlaysync.model.result import Result, ResultProblem

OF_SEVERAL_TARGETS = ("push", "status", "verify", "revert")
OF_ONE_TARGET = ("watch", "init", "port", "doctor")
OF_NO_TARGET = ("manifest", "hook")
HERE = "."


class Addressee(Struct, frozen=True):
    """What a command line named, and the next one has to name again.

    ``targets``: as ``--container`` gave them; none where the configuration names the target, or it was found.
    ``directory``: as ``-C`` gave it.
    """

    targets: tuple[str, ...] = ()
    directory: str = HERE

    def step(self, text: str) -> str:
        """A next step whose commands name all of that."""
        names = "|".join((*OF_SEVERAL_TARGETS, *OF_ONE_TARGET, *OF_NO_TARGET))
        return re.sub(rf"\boverlaysync (?P<name>{names})\b(?! --container)", self._typed, text)

    def _typed(self, command: re.Match[str]) -> str:
        name = command["name"]
        where = [] if self.directory == HERE else ["-C", self.directory]
        count = len(self.targets) if name in OF_SEVERAL_TARGETS else 1 if name in OF_ONE_TARGET else 0
        targets = [word for target in self.targets[:count] for word in ("--container", target)]
        return shlex.join(["overlaysync", *where, name, *targets])

    def result(self, result: Result) -> Result:
        """The same for every problem of a result; what several targets have in common names all of them."""
        if not result.targets:
            return structs.replace(result, problems=tuple(map(self._problem, result.problems)))
        having: dict[ResultProblem, tuple[str, ...]] = {}
        for target, one in zip(self.targets, result.targets, strict=True):
            for problem in one.problems:
                having[problem] = (*having.get(problem, ()), target)
        return structs.replace(
            result,
            problems=tuple(self._of(having[problem])._problem(problem) for problem in result.problems),
            targets=tuple(
                self._of((target,)).result(one)
                for target, one in zip(self.targets, result.targets, strict=True)
            ),
        )

    def _of(self, targets: tuple[str, ...]) -> Addressee:
        return Addressee(targets, self.directory)

    def _problem(self, problem: ResultProblem) -> ResultProblem:
        if problem.next_step is None:
            return problem
        return structs.replace(problem, next_step=self.step(problem.next_step))
