"""``overlaysync watch``."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Any

import click

from overlaysync.cli import common
from overlaysync.cli.collecting import collect_often
from overlaysync.cli.terminal import Terminal, json_text

if TYPE_CHECKING:
    from overlaysync.model.moment import Moment

MILLISECONDS = click.FloatRange(min=0, max=60_000)


@click.command(epilog="Example: overlaysync watch --container my-dev")
@common.target_options
@common.image_commit_option
@common.image_index_option
@common.acknowledge_option
@common.port_option
@click.option("--quiet-ms", type=MILLISECONDS, help="A change is settled after so long without another [20].")
@click.option("--bound-ms", type=MILLISECONDS, help="Under continuous writing, push after so long [500].")
@click.option("--poll", is_flag=True, help="Look every second, where the file system tells no changes.")
@click.option("--bell", is_flag=True, help="Ring the terminal's bell at a refusal.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout for each moment.")
@click.pass_obj
def command(
    directory: str,
    /,
    quiet_ms: float | None,
    bound_ms: float | None,
    *,
    ported: bool,
    poll: bool,
    bell: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Push at each settled change, until Ctrl-C.

    One agent stays connected. A refusal is told once, and what it was about arrives when the reason is gone;
    what somebody mends in the target by hand is seen within 15 seconds.
    While a workload runs nothing is written; it is waited for. What another worktree pushes meanwhile, and a
    revert, is told and stays until something changes here. Ctrl-C is its end in good order, with exit code 0;
    in the middle of a push, which is rolled back, it is an interruption as of any other command.
    """
    from overlaysync.app.port import Source
    from overlaysync.app.watch import Pace, watch
    from overlaysync.cli.watch_view import Log, Screen

    collect_often()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # an end in good order, as by Ctrl-C
    options = common.options_of(directory, given)
    source = Source() if ported else None
    pace = Pace(_seconds(quiet_ms), _seconds(bound_ms), poll)
    try:
        if as_json:
            watch(options, pace, _print_json, source)
        elif sys.stdout.isatty():
            with Screen(Terminal(), bell=bell) as screen:
                watch(options, pace, screen, source)
        else:
            watch(options, pace, Log(Terminal(), bell=bell), source)
    except BrokenPipeError:  # nobody reads it any more: it ends, as by Ctrl-C
        with Terminal.reader_may_leave():
            pass
    return 0


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _print_json(moment: Moment) -> None:
    import msgspec

    print(json_text(msgspec.to_builtins(moment)), flush=True)
