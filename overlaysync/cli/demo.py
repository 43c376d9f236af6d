"""``overlaysync demo``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from overlaysync.cli import common
from overlaysync.cli.terminal import Terminal, clean


@click.command(epilog="Example: overlaysync demo")
@common.json_option
def command(as_json: bool) -> int:
    """Show the whole job on a throw-away package in an environment of this machine.

    Pushes a Python change, proves it, refuses a native one, reverts; nothing stays behind.
    """
    from overlaysync.app.demo import Demo
    from overlaysync.cli.render import render
    from overlaysync.model.result import Result

    terminal = Terminal()
    titles = []
    with tempfile.TemporaryDirectory(prefix="overlaysync-demo-") as directory:
        for number, step in enumerate(Demo(Path(directory)).steps(), 1):
            titles.append(step.title)
            if as_json:
                continue
            terminal.line(f"{number}. {clean(step.title)}", "bold")
            if step.command:
                terminal.line(f"   $ {clean(step.command)}", "dim")
                terminal.line()
            if step.result is not None:
                render(step.result, terminal)
            if step.says:
                terminal.line(f"  the package says: {clean(step.says)}", "path")
            terminal.line()
    if as_json:
        common.print_json(Result(command="demo", outcome="applied", exit_code=0, details={"steps": titles}))
    else:
        terminal.line(f"{terminal.styled('✓', 'good')} the demonstration is over; nothing of it is left")
    return 0
