"""``overlaysync revert``."""

from __future__ import annotations

from typing import Any

import click

from overlaysync.cli import common


@click.command(epilog="Example: overlaysync revert --container my-dev")
@common.target_options
@click.option("--dry-run", is_flag=True, help="Print the plan; write nothing.")
@common.json_option
@click.pass_obj
def command(directory: str, /, dry_run: bool, as_json: bool, **given: Any) -> int:
    """Put a target's own files back, byte for byte, with owner, mode and times.

    Refused when the overlay is no longer what was put there.
    """
    from overlaysync.app.revert import revert

    options = common.options_of(directory, given)
    return common.give_out(lambda stage: revert(options, stage, dry_run=dry_run), as_json=as_json)
