"""``overlaysync init``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from overlaysync.cli import common

if TYPE_CHECKING:
    from overlaysync.app.calling import Call
    from overlaysync.app.options import Stage
    from overlaysync.model.result import Result


@click.command(epilog="Example: overlaysync init --container my-dev --print")
@common.target_options
@common.image_commit_option
@click.option("--print", "print_only", is_flag=True, help="Show the configuration; write nothing.")
@common.json_option
@click.pass_obj
def command(directory: str, /, print_only: bool, as_json: bool, **given: Any) -> int:
    """Write overlaysync.toml for this worktree, with what is proven about it and a target.

    What a push would be refused for is told, and the exit code is 1. A workload that runs is a note.
    """

    def use(call: Call, stage: Stage) -> Result:
        from overlaysync.app.initialise import initialise

        return initialise(call, stage, print_only=print_only)

    return common.give_out_of_target(common.options_of(directory, given), use, as_json=as_json)
