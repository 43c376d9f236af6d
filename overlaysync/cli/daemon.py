"""``overlaysync daemon run|start|stop|status|logs|unit``."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from overlaysync.cli import common
from overlaysync.cli.collecting import collect_often
from overlaysync.cli.terminal import Terminal, clean
from overlaysync.core.moments import told

F = TypeVar("F", bound=Callable[..., Any])


def file_option(function: F) -> F:
    return click.option(
        "--file", metavar="FILE", type=click.Path(path_type=Path), help="The pairs (default: daemon.toml)."
    )(function)


@click.group(epilog="Example: overlaysync daemon start")
def command() -> None:
    """Watch several worktrees and their targets in the background.

    The pairs stand in daemon.toml in the user's configuration directory.
    """


@command.command("run", epilog="Example: overlaysync daemon run")
@file_option
def run_command(file: Path | None) -> int:
    """Watch all pairs in the foreground, until Ctrl-C or "daemon stop"."""
    from overlaysync.app.daemon.daemon import run

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    collect_often()
    return common.give_out(lambda _stage: run(file), as_json=False)


@command.command("start", epilog="Example: overlaysync daemon start")
@file_option
@common.json_option
def start_command(file: Path | None, as_json: bool) -> int:
    """Start the daemon in the background."""
    from overlaysync.app.daemon.daemon import start

    return common.give_out(lambda _stage: start(file), as_json=as_json)


@command.command("stop", epilog="Example: overlaysync daemon stop")
@common.json_option
def stop_command(as_json: bool) -> int:
    """Stop it; what is under way is finished or rolled back."""
    from overlaysync.app.daemon.daemon import stop

    return common.give_out(lambda _stage: stop(), as_json=as_json)


@command.command("status", epilog="Example: overlaysync daemon status --json")
@common.json_option
def status_command(as_json: bool) -> int:
    """Show what each pair does; the exit code is 1 where no daemon runs."""
    from overlaysync.app.daemon.daemon import status
    from overlaysync.cli.watch_view import MARKS

    if as_json:
        return common.give_out(lambda _stage: status(), as_json=True)
    result, terminal = status(), Terminal()
    with terminal.reader_may_leave():
        for pair in result.details.get("pairs", []):
            mark = terminal.styled(*MARKS.get(pair["event"], MARKS["watching"]))
            terminal.line(f"{mark} {clean(pair['name'])}  {clean(told(pair['event'], pair['message']))}")
            if pair["next_step"]:
                terminal.line(f"  → {clean(pair['next_step'])}")
        terminal.line(clean(result.details["sentence"]))
    return result.exit_code


@command.command("logs", epilog="Example: overlaysync daemon logs --lines 50")
@click.option("--lines", default=100, type=click.IntRange(min=1), help="So many of the last lines [100].")
def logs_command(lines: int) -> int:
    """Show the end of the daemon's log."""
    from overlaysync.app.daemon.daemon import logs

    terminal = Terminal()
    with terminal.reader_may_leave():
        for line in logs(lines):
            terminal.line(clean(line))
    return 0


@command.command("unit", epilog="Example: overlaysync daemon unit")
@file_option
@common.json_option
def unit_command(file: Path | None, as_json: bool) -> int:
    """Write a systemd user unit that runs the daemon."""
    from overlaysync.app.daemon.daemon import unit

    return common.give_out(lambda _stage: unit(file), as_json=as_json)
