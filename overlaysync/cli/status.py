"""``overlaysync status``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from overlaysync.cli import common

if TYPE_CHECKING:
    from overlaysync.app.calling import Call
    from overlaysync.app.options import Stage
    from overlaysync.model.result import Result


@click.command(epilog="Example: overlaysync status --container my-dev --check")
@common.target_options
@common.image_commit_option
@common.image_index_option
@common.acknowledge_option
@common.port_option
@click.option("--check", is_flag=True, help="Exit code 1 when anything is pending or in the way.")
@common.json_option
@click.pass_obj
def command(directory: str, /, ported: bool, check: bool, as_json: bool, **given: Any) -> int:
    """What a push would do, and what is in its way; changes nothing.

    Exit code 1 with findings: the baseline is not proven, or the target has drifted. With --port the linked
    worktree is written, as by port.
    """

    def use(call: Call, stage: Stage) -> Result:
        if not ported:
            call.looking()
        from overlaysync.app.port import Source
        from overlaysync.app.status import status

        return status(call, stage, check=check, source=Source() if ported else None)

    return common.give_out_of_target(common.options_of(directory, given), use, as_json=as_json)
