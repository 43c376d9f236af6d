"""``overlaysync push``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from overlaysync.cli import common

if TYPE_CHECKING:
    from overlaysync.app.calling import Call
    from overlaysync.app.options import Stage
    from overlaysync.model.result import Result


@click.command(epilog="Example: overlaysync push --container my-dev")
@common.several_targets_options
@common.image_commit_option
@common.image_index_option
@common.acknowledge_option
@common.port_option
@click.option("--dry-run", is_flag=True, help="Print the plan; write nothing.")
@common.json_option
@click.pass_obj
def command(directory: str, /, ported: bool, dry_run: bool, as_json: bool, **given: Any) -> int:
    """Put the worktree's Python changes into a target, proven.

    All of it or none: whatever stands in the way is listed at once, and nothing is written. So it is with
    several targets: into all of them, or into none. A dry run with --port leaves no linked worktree behind,
    and does not touch one that exists.
    """

    def use(calls: Sequence[Call], stage: Stage) -> Result:
        from overlaysync.app.push import push

        return push(calls, stage, ported=ported, dry_run=dry_run)

    return common.give_out_of_targets(directory, given, use, as_json=as_json, ported=ported, looks=not ported)
