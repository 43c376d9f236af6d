"""``overlaysync status``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from overlaysync.cli import common

if TYPE_CHECKING:
    from overlaysync.app.calling import Call
    from overlaysync.app.options import Stage
    from overlaysync.model.result import Result


@click.command(epilog="Example: overlaysync status --container my-dev --check")
@common.several_targets_options
@common.image_commit_option
@common.image_index_option
@common.acknowledge_option
@common.port_option
@click.option("--check", is_flag=True, help="Exit code 1 when anything is pending or in the way.")
@common.json_option
@click.pass_obj
def command(directory: str, /, ported: bool, check: bool, as_json: bool, **given: Any) -> int:
    """What a push would do, and what is in its way; changes nothing.

    Exit code 1 with findings: the baseline is not proven, or the target has drifted. --port leaves no linked
    worktree behind, and does not touch one that exists.
    """

    def use(calls: Sequence[Call], stage: Stage) -> Result:
        from overlaysync.app.status import status

        return status(calls, stage, ported=ported, check=check)

    return common.give_out_of_targets(directory, given, use, as_json=as_json, ported=ported, looks=not ported)
