"""``overlaysync verify``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from overlaysync.cli import common

if TYPE_CHECKING:
    from overlaysync.app.calling import Call
    from overlaysync.app.options import Stage
    from overlaysync.model.result import Result


@click.command(epilog="Example: overlaysync verify --container my-dev")
@common.several_targets_options
@common.json_option
@click.pass_obj
def command(directory: str, /, as_json: bool, **given: Any) -> int:
    """Check the overlay that a target has: its bytes, what is imported, and which processes are older.

    Exit code 1 with findings.
    """

    def use(calls: Sequence[Call], stage: Stage) -> Result:
        from overlaysync.app.verify import verify

        return verify(calls, stage)

    return common.give_out_of_targets(directory, given, use, as_json=as_json)
