"""The command group. Commands are loaded when they are asked for, so that ``--help`` starts fast."""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

from overlaysync import __version__

if TYPE_CHECKING:
    from overlaysync.app.early import Early

EARLY = "overlaysync.early"
"""Where the context has what was begun for the command line."""
COMMANDS = {
    "init": "write a configuration, proven against a target",
    "status": "what a push would do, and what is in its way",
    "push": "put the worktree's Python changes into a target, proven",
    "watch": "push at each settled change, until Ctrl-C",
    "port": "carry a branch's state onto the image commit, in a worktree of its own",
    "verify": "check the overlay that a target has",
    "revert": "put a target's own files back",
    "hook": "refuse to push Python that is not what ran",
    "manifest": "show and compare the records of what was done",
    "daemon": "watch several worktrees and their targets in the background",
    "doctor": "what is missing on this machine and in a target",
    "completion": "print a shell's completion script",
    "demo": "the whole job on a throw-away package, no container needed",
}


class LazyGroup(click.Group):
    """A group whose commands live in ``overlaysync.cli.<name>`` as ``command``."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"overlaysync.cli.{name}").command
        return command

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """The list, without loading any command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: overlaysync push --container my-dev",
)
@click.version_option(__version__, prog_name="overlaysync")
@click.option(
    "-C",
    "--worktree",
    "directory",
    metavar="DIR",
    default=".",
    help="The git worktree, or a directory in it (default: here).",
)
@click.pass_context
def overlaysync(context: click.Context, directory: str) -> None:
    """Modify in the host worktree, execute in the container.

    Copies the Python files that differ from HEAD onto their installed paths in a target, after proving that
    HEAD is the commit the image was built from, that every original is untouched, and that what Python will
    import is what was copied.
    """
    context.meta[EARLY], context.obj = context.obj, directory


def main(early: Early | None = None) -> int:
    """The program: runs a command; its exit code. ``early``: what was begun for it."""
    from overlaysync.cli.failure import run
    from overlaysync.cli.terminal import never_fail_to_print

    never_fail_to_print()
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # until now nothing was to be told of it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run(overlaysync, sys.argv[1:], early)
