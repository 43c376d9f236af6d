"""``overlaysync revert``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from overlaysync.cli import common

if TYPE_CHECKING:
    from overlaysync.app.calling import Call
    from overlaysync.app.options import Stage
    from overlaysync.model.result import Result


@click.command(epilog="Example: overlaysync revert --container my-dev")
@common.several_targets_options
@click.option("--dry-run", is_flag=True, help="Print the plan; write nothing.")
@common.json_option
@click.pass_obj
def command(directory: str, /, dry_run: bool, as_json: bool, **given: Any) -> int:
    """Put a target's own files back, byte for byte, with owner, mode and times.

    Refused when the overlay is no longer what was put there.
    """

    def use(calls: Sequence[Call], stage: Stage) -> Result:
        from overlaysync.app.revert import revert

        return revert(calls, stage, dry_run=dry_run)

    return common.give_out_of_targets(directory, given, use, as_json=as_json)
