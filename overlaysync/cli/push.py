"""``overlaysync push``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from overlaysync.cli import common

if TYPE_CHECKING:
    from overlaysync.app.calling import Call
    from overlaysync.app.options import Stage
    from overlaysync.model.result import Result


@click.command(epilog="Example: overlaysync push --container my-dev")
@common.target_options
@common.image_commit_option
@common.image_index_option
@common.acknowledge_option
@common.port_option
@click.option("--dry-run", is_flag=True, help="Print the plan; write nothing.")
@common.json_option
@click.pass_obj
def command(directory: str, /, ported: bool, dry_run: bool, as_json: bool, **given: Any) -> int:
    """Put the worktree's Python changes into a target, proven.

    All of it or none: whatever stands in the way is listed at once, and nothing is written. A dry run with
    --port leaves no linked worktree, and one that is there as it is.
    """

    def use(call: Call, stage: Stage) -> Result:
        if not ported:
            call.looking()
        from overlaysync.app.port import Source
        from overlaysync.app.push import push

        return push(call, stage, dry_run=dry_run, source=Source() if ported else None)

    return common.give_out_of_target(common.options_of(directory, given), use, as_json=as_json)
