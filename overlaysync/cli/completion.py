"""``overlaysync completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command(epilog='Example: eval "$(overlaysync completion bash)"')
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> int:
    """Print the script that teaches a shell to complete overlaysync's commands and options."""
    from overlaysync.cli.main import overlaysync

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(kind(overlaysync, {}, "overlaysync", "_OVERLAYSYNC_COMPLETE").source())
    return 0
