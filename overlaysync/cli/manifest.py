"""``overlaysync manifest list|show|diff``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from overlaysync.cli import common
from overlaysync.cli.terminal import Terminal, clean

if TYPE_CHECKING:
    from overlaysync.model.result import Result


@click.group(epilog="Example: overlaysync manifest show latest")
def command() -> None:
    """Show and compare the records of what was done."""


NONE_HERE = (
    "no manifest of this worktree or one linked with it; of every repository: overlaysync manifest list --all"
)


@command.command("list", epilog="Example: overlaysync manifest list --json")
@click.option("--all", "everywhere", is_flag=True, help="Of every repository, not only of this one.")
@common.json_option
@click.pass_obj
def list_command(directory: str, /, everywhere: bool, as_json: bool) -> int:
    """List the manifests of this repository, newest first.

    How to name it to show and diff, when, what, how many files were overlaid then, into which target and
    package, and from which worktree and branch.
    """
    from overlaysync.app.manifests import list_manifests
    from overlaysync.app.next_steps import addressed

    options = common.options_of(directory, {})
    with addressed([options]):
        result = list_manifests(options, everywhere=everywhere)

    def show(result: Result, terminal: Terminal) -> None:
        _show_list(result, terminal, everywhere=everywhere)

    return _give(result, show, as_json=as_json)


@command.command("show", epilog="Example: overlaysync manifest show 3f9c2a")
@click.argument("reference", default="latest")
@common.json_option
@click.pass_obj
def show_command(directory: str, /, reference: str, as_json: bool) -> int:
    """Show one manifest: an id, its beginning, its random part, the path of a file, or "latest".

    With --json the record itself is details.manifest of the object.
    """
    from overlaysync.app.manifests import show_manifest
    from overlaysync.app.next_steps import addressed

    options = common.options_of(directory, {})
    with addressed([options]):
        result = show_manifest(options, reference)
    return _give(result, _show_one, as_json=as_json)


@command.command("diff", epilog="Example: overlaysync manifest diff 3f9c2a 00aa11")
@click.argument("reference", default="latest")
@click.argument("other", required=False)
@common.json_option
@click.pass_obj
def diff_command(directory: str, /, reference: str, other: str | None, as_json: bool) -> int:
    """Show what differs between two manifests: facts first, then the overlaid files.

    Of one manifest alone, what differs from the one before it in the same target. Exit code 0 either way.
    """
    from overlaysync.app.manifests import compare_manifests
    from overlaysync.app.next_steps import addressed

    options = common.options_of(directory, {})
    with addressed([options]):
        result = compare_manifests(options, reference, other)
    return _give(result, _show_difference, as_json=as_json)


def _give(result: Result, show: Any, *, as_json: bool) -> int:
    terminal = Terminal()
    with terminal.reader_may_leave():
        if as_json:
            common.print_json(result)
        else:
            show(result, terminal)
    return result.exit_code


def _show_list(result: Result, terminal: Terminal, *, everywhere: bool) -> None:
    from overlaysync.cli.manifest_listing import show

    show(result.details["manifests"], terminal)
    if not result.details["manifests"]:
        terminal.line("no manifest yet" if everywhere else NONE_HERE)
    for line in result.details["damaged"]:
        terminal.line(f"damaged: {clean(line)}", "warn")


def _show_one(result: Result, terminal: Terminal) -> None:
    import msgspec

    from overlaysync.cli.manifest_view import show
    from overlaysync.model.manifest import Manifest

    show(msgspec.convert(result.details["manifest"], Manifest), result.manifest, terminal)


def _show_difference(result: Result, terminal: Terminal) -> None:
    from overlaysync.cli.manifest_listing import show_difference

    show_difference(result.details, terminal)
