"""``overlaysync init``."""

from __future__ import annotations

from typing import Any

import click

from overlaysync.cli import common


@click.command(epilog="Example: overlaysync init --container my-dev --print")
@common.target_options
@common.image_commit_option
@click.option("--print", "print_only", is_flag=True, help="Show the configuration; write nothing.")
@common.json_option
@click.pass_obj
def command(directory: str, /, print_only: bool, as_json: bool, **given: Any) -> int:
    """Write overlaysync.toml for this worktree, with what is proven about it and a target."""
    from overlaysync.app.initialise import initialise

    options = common.options_of(directory, given)
    return common.give_out(lambda stage: initialise(options, stage, print_only=print_only), as_json=as_json)
