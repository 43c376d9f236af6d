"""Commands that a next step names, as they are to be typed for the targets and the worktree in question."""

from __future__ import annotations

import re
import shlex

from msgspec import Struct, structs

from overlaysync.model.result import Result, ResultProblem

HERE = "."
_OF_TARGET = ("--config", "--distribution", "--interpreter", "--user")
_OF_IMAGE = ("--image-commit", "--image-index")
COMMANDS = {
    "push": (*_OF_TARGET, *_OF_IMAGE),
    "status": (*_OF_TARGET, *_OF_IMAGE),
    "watch": (*_OF_TARGET, *_OF_IMAGE),
    "init": (*_OF_TARGET, "--image-commit"),
    "port": (*_OF_TARGET, "--image-commit"),
    "verify": _OF_TARGET,
    "revert": _OF_TARGET,
    "doctor": _OF_TARGET,
    "manifest": (),
    "hook": (),
}
"""By command: what it takes of what another one was given. One that takes nothing has no target either."""
OF_ONE_TARGET = ("watch", "init", "port", "doctor")
_NAMED = "|".join(("container", *(option.lstrip("-") for option in (*_OF_TARGET, *_OF_IMAGE))))
_ALONE = r"(?<![\w/.'-])"
"""Before a word that is not a part of a path."""
_OURS = rf"{_ALONE}overlaysync (?P<name>{'|'.join(COMMANDS)})\b(?! --(?:{_NAMED}))(?P<port> --port\b)?"
"""One that names none of that yet."""
_OF_GIT = "add|checkout|commit|fetch|merge-base|mv|rebase|reset|rm|stash|status|submodule|switch"
_GITS = rf"{_ALONE}git (?P<name>{_OF_GIT})\b"


class Addressee(Struct, frozen=True):
    """What a command line named, and the next one has to name again.

    ``targets``: as ``--container`` gave them; none where the configuration names the target, or it was found.
    ``directory``: as ``-C`` gave it. ``options``: names and values of others; but what was accepted, a person
    accepts anew. ``root``: the worktree's, where it is not where commands are typed.
    """

    targets: tuple[str, ...] = ()
    directory: str = HERE
    options: tuple[tuple[str, str], ...] = ()
    root: str | None = None

    def step(self, text: str) -> str:
        """A next step whose commands name all of that."""
        if self.root is not None:
            there = f"git -C {shlex.quote(self.root)}"
            text = re.sub(_GITS, lambda command: f"{there} {command['name']}", text)
        return re.sub(_OURS, self._typed, text)

    def _typed(self, command: re.Match[str]) -> str:
        """One command; one for each target where it takes but one."""
        name, port = command["name"], command["port"] or ""
        groups = [self.targets]
        if self.targets and (port or name in OF_ONE_TARGET):
            groups = [(target,) for target in self.targets]
        if name == "watch":  # which goes on
            groups = groups[:1]
        return " && ".join(self._line(name, group) + port for group in groups)

    def _line(self, name: str, targets: tuple[str, ...]) -> str:
        where = [] if self.directory == HERE else ["-C", self.directory]
        taken = COMMANDS[name]
        pairs = [
            *(("--container", target) for target in targets if taken),
            *((option, value) for option, value in self.options if option in taken),
        ]
        return shlex.join(["overlaysync", *where, name, *(word for pair in pairs for word in pair)])

    def result(self, result: Result) -> Result:
        """The same for every problem of a result; what several targets have in common names all of them."""
        if not result.targets:
            return structs.replace(result, problems=tuple(map(self._problem, result.problems)))
        having: dict[ResultProblem, tuple[str, ...]] = {}
        for target, one in zip(self.targets, result.targets, strict=True):
            for problem in dict.fromkeys(one.problems):
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
        return structs.replace(self, targets=targets)

    def _problem(self, problem: ResultProblem) -> ResultProblem:
        if problem.next_step is None:
            return problem
        return structs.replace(problem, next_step=self.step(problem.next_step))
