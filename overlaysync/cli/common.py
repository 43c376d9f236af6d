"""Options that several commands share, and how their result is given out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from overlaysync.cli.main import EARLY
from overlaysync.cli.terminal import Terminal, json_text

if TYPE_CHECKING:
    from overlaysync.app.calling import Call
    from overlaysync.app.early import Early
    from overlaysync.app.options import Options, Stage
    from overlaysync.model.result import Result

F = TypeVar("F", bound=Callable[..., Any])

RISKS = ("binding", "jit", "syntax", "removals", "drift", "environment", "search-path")

_CONTAINER = "NAME, docker:NAME, compose:SERVICE or local:PREFIX (default: found)."


def _only(_context: click.Context, _option: click.Parameter, names: tuple[str, ...]) -> str | None:
    if len(names) > 1:
        raise click.UsageError("this command takes one --container; run it for each of them")
    return names[0] if names else None


_ONE_TARGET = click.option("--container", metavar="TARGET", multiple=True, callback=_only, help=_CONTAINER)
_SEVERAL_TARGETS = click.option(
    "--container", "containers", metavar="TARGET", multiple=True, help=f"{_CONTAINER} May be given again."
)
_TARGET_OPTIONS = (
    click.option("--config", metavar="FILE", help="Configuration file (default: the worktree's)."),
    _ONE_TARGET,
    click.option("--distribution", metavar="NAME", help="The installed project (default: the repository's)."),
    click.option("--interpreter", metavar="PATH", help="The workload's Python, by its path in the target."),
    click.option("--user", metavar="USER", help="Who writes in the target (default: the target's own user)."),
)


def target_options(function: F) -> F:
    """``--config``, ``--container``, ``--distribution``, ``--interpreter``, ``--user``."""
    for option in reversed(_TARGET_OPTIONS):
        function = option(function)
    return function


def several_targets_options(function: F) -> F:
    """The same where ``--container`` may be given again."""
    for option in reversed(_TARGET_OPTIONS):
        function = (_SEVERAL_TARGETS if option is _ONE_TARGET else option)(function)
    return function


def image_commit_option(function: F) -> F:
    return click.option(
        "--image-commit", metavar="FULL", help="Full id of the commit that the image was built from."
    )(function)


def image_index_option(function: F) -> F:
    return click.option(
        "--image-index",
        metavar="FILE",
        help="Index that the image was pulled by, as its registry serves it; tells the manifest.",
    )(function)


class RiskNames(click.ParamType[tuple[str, ...]]):
    """One class of risk, or several with commas between them."""

    name = "class"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        names = tuple(name.strip() for name in value.split(","))
        for name in names:
            if name not in RISKS:
                self.fail(f"{name!r} is no class of risk; they are {', '.join(RISKS)}", param, ctx)
        return names


def acknowledge_option(function: F) -> F:
    return click.option(
        "--acknowledge",
        metavar="CLASS",
        multiple=True,
        type=RiskNames(),
        help=f"Accept a class of risk, which the manifest records: {', '.join(RISKS)}. May be given again.",
    )(function)


def json_option(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")(function)


def port_option(function: F) -> F:
    return click.option(
        "--port",
        "ported",
        is_flag=True,
        help="Carry the worktree's state onto the image commit first, and go on from there (see port).",
    )(function)


def options_of(directory: str, given: dict[str, Any]) -> Options:
    """The use case's options from the command line's; what the command does not have stays at its default."""
    from overlaysync.app.options import Options

    config = given.get("config")
    return Options(
        worktree=Path(directory),
        config=Path(config) if config is not None else None,
        container=given.get("container"),
        distribution=given.get("distribution"),
        image_commit=given.get("image_commit"),
        image_index=Path(index) if (index := given.get("image_index")) is not None else None,
        interpreter=given.get("interpreter"),
        user=given.get("user"),
        acknowledged=frozenset(name for names in given.get("acknowledge") or () for name in names),
    )


def print_json(result: Result) -> None:
    """The one object of ``--json``; ASCII, so that names which are not UTF-8 survive as escapes."""
    import msgspec

    print(json_text(msgspec.to_builtins(result)))


def give_out_of_target(options: Options, use: Callable[[Call, Stage], Result], *, as_json: bool) -> int:
    """``give_out`` of a use case whose target is called while the use case is loaded."""
    from overlaysync.app.calling import Call  # which takes about as long to load as an engine takes to start

    call = Call(options, click.get_current_context().meta[EARLY])

    def run(stage: Stage) -> Result:
        with call:  # a reader who takes his time must not hold the target's lock
            return use(call, stage)

    return give_out(run, as_json=as_json, options=[options])


def give_out_of_targets(
    directory: str,
    given: dict[str, Any],
    use: Callable[[Sequence[Call], Stage], Result],
    *,
    as_json: bool,
    ported: bool = False,
    looks: bool = False,
) -> int:
    """``give_out`` of a use case for one target or several, which are called while it is loaded.

    ``ported``: it is for one alone. ``looks``: at the worktree, meanwhile.
    """
    from overlaysync.app.calling import Call

    names: tuple[str, ...] = given["containers"]
    if len(set(names)) < len(names):
        raise click.UsageError("a target is named twice")
    if ported and len(names) > 1:
        raise click.UsageError("--port goes with one --container: each target may be of another commit")
    with ExitStack() as opened:
        calls = [
            opened.enter_context(Call(options_of(directory, {**given, "container": name}), early))
            for name, early in _begun(names)
        ]
        called, options = opened.pop_all(), [call.options for call in calls]

    def run(stage: Stage) -> Result:
        with called:  # a reader who takes his time must not hold a target's lock
            if looks:
                calls[0].looking()
            return use(calls, stage)

    return give_out(run, as_json=as_json, options=options)


def _begun(names: Sequence[str]) -> Iterator[tuple[str | None, Early]]:
    """Each target's name, None for one that is to be found; and what was begun for the command line there."""
    yield names[0] if names else None, click.get_current_context().meta[EARLY]
    from overlaysync.app.early import begin

    for name in names[1:]:
        yield name, begin([*sys.argv[1:], f"\0{name}"])  # which is no argument: it is kept apart


def give_out(run: Callable[[Stage], Result], *, as_json: bool, options: Sequence[Options] = ()) -> int:
    """Runs a use case with progress, shows its result, and returns its exit code.

    ``options``: of the command, for each target; commands that are named as the next step name the same.
    """
    from overlaysync.app.next_steps import addressed, addressee

    terminal = Terminal()
    with addressed(options), terminal.progress() as progress:
        result = run(progress)
    if result.problems:
        result = addressee(options).result(result)
    with terminal.reader_may_leave():
        if as_json:
            print_json(result)
        else:
            from overlaysync.cli.render import render

            render(result, terminal)
    return result.exit_code
