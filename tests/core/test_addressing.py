"""A command that is told as the next step works when it is typed: it names the targets and the worktree."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from overlaysync.app.next_steps import addressee
from overlaysync.app.options import Options
from overlaysync.cli.main import overlaysync
from overlaysync.core.addressing import COMMANDS, OF_ONE_TARGET, Addressee
from overlaysync.core.several import as_one
from overlaysync.model.result import Result, ResultProblem

FULL = Options(
    worktree=Path("tree"),
    config=Path("my.toml"),
    container="dev",
    distribution="sample",
    image_commit="1" * 40,
    image_index=Path("index.json"),
    interpreter="/bin/python3",
    user="ml",
)
"""A command line with all that is named again."""

STEPS: dict[str, tuple[Addressee, str, str]] = {
    "nothing was named": (Addressee(), "run overlaysync push first", "run overlaysync push first"),
    "a target": (
        Addressee(("dev",)),
        "take the overlay away first: overlaysync revert",
        "take the overlay away first: overlaysync revert --container dev",
    ),
    "before other options": (
        Addressee(("dev",)),
        "run this: overlaysync push --port; or not",
        "run this: overlaysync push --container dev --port; or not",
    ),
    "several targets": (
        Addressee(("one", "two")),
        "overlaysync push; overlaysync doctor",
        "overlaysync push --container one --container two; "
        "overlaysync doctor --container one && overlaysync doctor --container two",
    ),
    "several targets, of which the command takes one": (
        Addressee(("one", "two")),
        "(watch takes --port, too): overlaysync push --port; overlaysync watch",
        "(watch takes --port, too): overlaysync push --container one --port && "
        "overlaysync push --container two --port; overlaysync watch --container one",
    ),
    "git, typed elsewhere": (
        Addressee(("dev",), "../my tree", root="/w/my tree"),
        "undo: git stash push -- a.py; see: git status; git -C /other checkout HEAD -- a.py",
        "undo: git -C '/w/my tree' stash push -- a.py; see: git -C '/w/my tree' status; "
        "git -C /other checkout HEAD -- a.py",
    ),
    "a part of a path, or of a name": (
        Addressee(("dev",), "../t", root="/w/t"),
        "git -C third_party/overlaysync status; rm 'a/git stash'; x-overlaysync push",
        "git -C third_party/overlaysync status; rm 'a/git stash'; x-overlaysync push",
    ),
    "a worktree": (
        Addressee(("dev",), "/w/my tree"),
        "overlaysync push, or overlaysync manifest list --all",
        "overlaysync -C '/w/my tree' push --container dev, "
        "or overlaysync -C '/w/my tree' manifest list --all",
    ),
    "what takes no target": (
        Addressee(("dev",)),
        "see it: overlaysync daemon status; overlaysync hook install",
        "see it: overlaysync daemon status; overlaysync hook install",
    ),
    "what a shell would take apart": (
        Addressee(("local:/a b",)),
        "overlaysync status",
        "overlaysync status --container 'local:/a b'",
    ),
    "evidence, where the command takes it": (
        Addressee(("dev",), options=(("--user", "ml"), ("--image-commit", "1" * 40))),
        "overlaysync push --port; overlaysync revert",
        f"overlaysync push --container dev --user ml --image-commit {'1' * 40} --port; "
        "overlaysync revert --container dev --user ml",
    ),
    "options without a target": (
        Addressee(options=(("--config", "my.toml"), ("--image-index", "i.json"))),
        "overlaysync port; overlaysync manifest list",
        "overlaysync port --config my.toml; overlaysync manifest list",
    ),
    "what is named already": (
        Addressee(("dev",)),
        "overlaysync push --container other --port",
        "overlaysync push --container other --port",
    ),
    "what only begins like a command": (
        Addressee(("dev",)),
        "overlaysync pushes nothing",
        "overlaysync pushes nothing",
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_next_step(name: str) -> None:
    addressee, step, typed = STEPS[name]
    assert addressee.step(step) == typed
    assert addressee.step(typed) == typed


def test_what_commands_are_said_to_take_they_take() -> None:
    for name, taken in COMMANDS.items():
        command = overlaysync.get_command(click.Context(overlaysync), name)
        assert command is not None
        there = {word for option in command.params for word in option.opts}
        carried = {option for option, _ in addressee([FULL]).options}
        assert carried & there == set(taken)
        assert ("--container" in there) == bool(taken)
        several = any(option.name == "containers" for option in command.params)
        assert several == (bool(taken) and name not in OF_ONE_TARGET)


def result(*problems: ResultProblem) -> Result:
    return Result("push", "refused", 5, problems=problems)


def test_each_problem_of_several_targets_names_those_that_have_it() -> None:
    own = ResultProblem("drift", "a.py", "drifted", "overlaysync revert")
    common = ResultProblem("native-change", "b.cc", "native", "overlaysync push")
    silent = ResultProblem("native-change", "c.cc", "native", None)
    whole = as_one("push", [result(common), result(own, common, common, silent)])
    told = Addressee(("one", "two")).result(whole)
    assert [problem.next_step for problem in told.problems] == [
        "overlaysync push --container one --container two",
        "overlaysync revert --container two",
        None,
    ]
    assert [problem.next_step for problem in told.targets[1].problems] == [
        "overlaysync revert --container two",
        *["overlaysync push --container two"] * 2,
        None,
    ]
    assert (
        Addressee(("one",)).result(result(own)).problems[0].next_step == "overlaysync revert --container one"
    )
