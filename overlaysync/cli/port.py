"""``overlaysync port``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from overlaysync.cli import common


@click.command(epilog="Example: overlaysync port --container my-dev")
@common.target_options
@common.image_commit_option
@click.option("--branch", metavar="NAME", help="Carry this branch, in place of the worktree's own state.")
@click.option("--to", "place", metavar="DIR", help="Where the linked worktree is (default: shown).")
@common.json_option
@click.pass_obj
def command(directory: str, /, branch: str | None, place: str | None, as_json: bool, **given: Any) -> int:
    """Make or refresh a worktree at the image commit that carries your branch.

    HEAD must be the commit that the image was built from. Where yours has moved on, its state (commits, edits
    and new files) is laid onto the image commit in a linked worktree, as an uncommitted difference to push
    from. Your own worktree is not touched. What does not go together is told file by file.
    The linked worktree stays until you remove it: git worktree remove --force DIR.
    """
    from overlaysync.app.port import Source, port

    options = common.options_of(directory, given)
    source = Source(branch, Path(place).absolute() if place is not None else None)
    return common.give_out(lambda stage: port(options, source, stage), as_json=as_json, options=[options])
