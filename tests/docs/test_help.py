"""Every ``--help`` shows an example, and the example is a command line that is taken."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from overlaysync.cli.main import overlaysync


def every(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from every(below, (*words, name))


COMMANDS = list(every(overlaysync))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_shows_an_example_that_is_taken(words: tuple[str, ...]) -> None:
    help_text = CliRunner().invoke(overlaysync, [*words, "--help"]).output
    assert help_text.count("Example: ") == 1
    example = " ".join(help_text.split("Example: ")[1].split())
    given = shlex.split(example.removeprefix('eval "$(').removesuffix(')"'))
    assert tuple(given[1 : 1 + len(words)]) == words
    command, rest = descend(overlaysync, given[1:])
    command.make_context(given[0], rest)


def descend(command: click.Command, words: list[str]) -> tuple[click.Command, list[str]]:
    while isinstance(command, click.Group):
        below = command.get_command(click.Context(command), words[0])
        assert below is not None, words
        command, words = below, words[1:]
    return command, words
