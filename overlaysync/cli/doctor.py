"""``overlaysync doctor``."""

from __future__ import annotations

from typing import Any

import click

from overlaysync.cli import common


@click.command(epilog="Example: overlaysync doctor --container my-dev")
@common.target_options
@common.json_option
@click.pass_obj
def command(directory: str, /, as_json: bool, **given: Any) -> int:
    """What is missing on this machine and in a target, each with its remedy."""
    from overlaysync.app.doctor import doctor

    options = common.options_of(directory, given)
    return common.give_out(lambda stage: doctor(options, stage), as_json=as_json, options=[options])
