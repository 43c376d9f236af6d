"""``overlaysync verify``."""

from __future__ import annotations

from typing import Any

import click

from overlaysync.cli import common


@click.command(epilog="Example: overlaysync verify --container my-dev")
@common.target_options
@common.json_option
@click.pass_obj
def command(directory: str, /, as_json: bool, **given: Any) -> int:
    """Check the overlay that a target has: its bytes, what is imported, and which processes are older.

    Exit code 1 with findings.
    """
    from overlaysync.app.verify import verify

    options = common.options_of(directory, given)
    return common.give_out(lambda stage: verify(options, stage), as_json=as_json)
