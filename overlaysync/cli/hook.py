"""``overlaysync hook install|pre-push``."""

from __future__ import annotations

import os
import sys

import click

from overlaysync.cli import common


@click.group(epilog="Example: overlaysync hook install")
def command() -> None:
    """Refuse to push Python that is not what ran."""


@command.command("install", epilog="Example: overlaysync hook install")
@click.option("--uninstall", "away", is_flag=True, help="Take it away, and put a hook of before back.")
@common.json_option
@click.pass_obj
def install_command(directory: str, /, away: bool, as_json: bool) -> int:
    """Install the pre-push hook in this repository.

    Where core.hooksPath names a directory, it goes there. A hook that is there already is kept, and runs
    first.
    """
    from overlaysync.app.hook import install, uninstall

    options = common.options_of(directory, {})
    return common.give_out(
        lambda _stage: (uninstall if away else install)(options), as_json=as_json, options=[options]
    )


@command.command("pre-push", epilog="Example: overlaysync hook pre-push origin")
@click.argument("remote", required=False, expose_value=False)
@click.argument("url", required=False, expose_value=False)
@common.json_option
@click.pass_obj
def pre_push_command(directory: str, /, as_json: bool) -> int:
    """Compare what git is about to push with the overlays that ran.

    Called by git, with the pushed refs on standard input, or by the pre-commit framework. For every overlay
    that is recorded of this repository, each overlaid file must be in the pushed commit as it ran, no other
    packaged Python may differ from the image commit, and a target that answers must still hold the overlay.
    Where every overlay was taken away again (revert), what ran last before counts, or the image's own Python.
    Where none is recorded nothing is compared: that is said, and the push goes.
    """
    from overlaysync.app.prepush import pre_push
    from overlaysync.core.prepush import from_pre_commit, parse

    refs = from_pre_commit(os.environ)
    if refs is None:
        refs = parse(sys.stdin.read())
    options = common.options_of(directory, {})
    return common.give_out(lambda stage: pre_push(options, refs, stage), as_json=as_json, options=[options])
