"""Writes the pages of ``docs/`` that are made from the code: ``python docs/generate.py``.

The committed pages are compared with these by ``tests/docs/test_docs.py``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
from floors import picture

from overlaysync import errors
from overlaysync.cli.main import overlaysync
from overlaysync.model.problem import EXIT_CODE_ORDER
from overlaysync.model.problem_kinds import PROBLEM_KINDS

HERE = Path(__file__).parent
SOURCE = HERE.parent / "overlaysync"

ALWAYS = (2, 70, 130)
"""Any command can meet a wrong word on its line, a bug of ours, and Ctrl-C."""

CONTACT = (*ALWAYS, 5, 7, 8, 9)
"""Any contact with a target: unreachable, locked, holding an interrupted run or a damaged record."""

ENDS: dict[str, tuple[int, ...]] = {
    "init": (*CONTACT, 0, 1, 4),
    "status": (*CONTACT, 0, 1, 4),
    "push": (*CONTACT, 0, 3, 4, 6),
    "verify": (*CONTACT, 0, 1),
    "revert": (*CONTACT, 0, 6),
    "manifest list": (*ALWAYS, 0),
    "manifest show": (*ALWAYS, 0),
    "manifest diff": (*ALWAYS, 0),
    "doctor": (*ALWAYS, 0, 1),
    "completion": (*ALWAYS, 0),
    "watch": (0, 2, 4, 7, 70, 130),
    "port": (0, 2, 3, 4, 7, 8, 9, 70, 130),
    "daemon run": (*ALWAYS, 0, 9),
    "daemon start": (*ALWAYS, 0, 9),
    "daemon stop": (*ALWAYS, 0),
    "daemon status": (*ALWAYS, 0, 1),
    "daemon logs": (*ALWAYS, 0),
    "daemon unit": (*ALWAYS, 0),
    "hook install": (*ALWAYS, 0),
    "hook pre-push": (0, 1, 2, 4, 70),
    "demo": (*ALWAYS, 0, 7, 8),
}
"""The exit codes that each command can end with."""

MEANINGS = {
    ("watch", 0): "ended by Ctrl-C or SIGTERM while no push was under way, or nobody reads it any more",
    ("watch", 130): "interrupted before it watched, or in the middle of a push, which is rolled back",
}
"""Where a command's exit code says more than the code itself."""


def pages() -> dict[str, str]:
    """Every generated file, by its path below ``docs/``."""
    found = {f"commands/{name.replace(' ', '-')}.md": command_page(name, it) for name, it in commands()}
    return {
        **found,
        "commands/README.md": index_page(),
        "exit-codes.md": exit_codes_page(),
        "problem-codes.md": problem_codes_page(),
        "floors.svg": picture(),
    }


# -- commands --------------------------------------------------------------------------------------------


def commands(group: click.Group = overlaysync, above: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command and subcommand by its words, in the order of the help."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None  # noqa: S101 (told to mypy)
        yield f"{above}{name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{above}{name} ")


def command_page(name: str, command: click.Command) -> str:
    summary, _, rest = help_text(command).partition("\n\n")
    parts = [NOTE, f"# `overlaysync {name}`", summary]
    if rest:
        parts.append(rest)
    parts.append(f"```sh\n{synopsis(name, command)}\n```")
    if isinstance(command, click.Group):
        parts.append(table(("command", "does"), subcommands(name, command)))
    arguments = [item for item in command.params if isinstance(item, click.Argument)]
    if arguments:
        parts += ["## Arguments", table(("argument", "value"), [argument_row(item) for item in arguments])]
    options = [item for item in command.params if isinstance(item, click.Option)]
    if options:
        parts += ["## Options", table(("option", "meaning"), [option_row(item) for item in options])]
    parts += ["## Example", f"```sh\n{example(command)}\n```"]
    if name in ENDS:
        meanings = {code: MEANINGS.get((name, code), errors.EXIT_CODES[code]) for code in sorted(ENDS[name])}
        rows = [(f"`{code}`", meaning) for code, meaning in meanings.items()]
        parts += [
            "## Exit codes",
            table(("code", "meaning"), rows),
            "All of them: [exit codes](../exit-codes.md).",
        ]
    return text_of(parts)


def help_text(command: click.Command) -> str:
    """The help's paragraphs, each on one line."""
    paragraphs = (command.help or "").strip().split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def synopsis(name: str, command: click.Command) -> str:
    options = any(isinstance(item, click.Option) for item in command.params)
    words = ["overlaysync [-C DIR]", name, *(["[OPTIONS]"] if options else [])]
    words += [metavar(item) for item in command.params if isinstance(item, click.Argument)]
    return " ".join([*words, *(["COMMAND"] if isinstance(command, click.Group) else [])])


def metavar(argument: click.Argument) -> str:
    name = (argument.name or "").upper()
    if isinstance(argument.type, click.Choice):
        name = "{" + "|".join(map(str, argument.type.choices)) + "}"
    return name if argument.required else f"[{name}]"


def argument_row(argument: click.Argument) -> tuple[str, str]:
    if isinstance(argument.type, click.Choice):
        value = "one of " + ", ".join(f"`{choice}`" for choice in argument.type.choices)
    else:
        value = "required" if argument.required else "may be left out"
        if isinstance(argument.default, str):
            value = f"`{argument.default}` when left out"
    return f"`{(argument.name or '').upper()}`", value


def option_row(option: click.Option) -> tuple[str, str]:
    names = ", ".join(f"`{name}`" for name in option.opts)
    value = "" if option.is_flag or option.metavar is None else f" `{option.metavar}`"
    return names + value, option.help or ""


def example(command: click.Command) -> str:
    """The command line that the help shows. Raises ValueError where it shows none."""
    label, _, line = (command.epilog or "").partition("Example: ")
    if label or not line:
        raise ValueError(f"the help of {command.name} shows no example: {command.epilog!r}")
    return line


def subcommands(name: str, group: click.Group) -> list[tuple[str, str]]:
    return [link_row(words, command) for words, command in commands(group, f"{name} ")]


def link_row(words: str, command: click.Command) -> tuple[str, str]:
    return f"[`{words}`]({words.replace(' ', '-')}.md)", help_text(command).partition("\n\n")[0]


def index_page() -> str:
    options = [option_row(item) for item in overlaysync.params if isinstance(item, click.Option)]
    return text_of(
        [
            NOTE,
            "# Commands",
            help_text(overlaysync).partition("\n\n")[2],
            table(("command", "does"), [link_row(words, command) for words, command in commands()]),
            "Before the command may stand:",
            table(
                ("option", "meaning"), [*options, ("`-h`, `--help`", "Show the help; also after a command.")]
            ),
        ]
    )


# -- codes -----------------------------------------------------------------------------------------------


def exit_codes_page() -> str:
    ends = {code: [name for name in ENDS if code in ENDS[name]] for code in errors.EXIT_CODES}
    rows = [
        (f"`{code}`", meaning, "every command" if len(ends[code]) == len(ENDS) else command_links(ends[code]))
        for code, meaning in errors.EXIT_CODES.items()
    ]
    order = ", ".join(f"`{code}`" for code in EXIT_CODE_ORDER)
    return text_of(
        [
            NOTE,
            "# Exit codes",
            table(("code", "meaning", "of"), rows),
            "A refusal lists every problem that was found. With several kinds of problem the first of "
            f"{order} that applies is the exit code.",
            "Of [several targets](how-it-proves.md#several-targets), `8` comes before these; where none of "
            "them ends with one of all those, it is the greatest. One that was held back (`another-target`) "
            "has the exit code of what held it back.",
            "The problems behind each: [problem codes](problem-codes.md).",
        ]
    )


def command_links(names: Sequence[str]) -> str:
    return ", ".join(f"[`{name}`](commands/{name.replace(' ', '-')}.md)" for name in names)


def problem_codes_page() -> str:
    parts = [
        NOTE,
        "# Problem codes",
        "Every refusal and failure has a code (`problems[].code` of `--json`), which stays the same from "
        "version to version; the sentence beside it may be worded better. A *problem* is found with others, "
        "and all of them are listed; an *error* ends the run at once.",
        "Where a class stands under `--acknowledge`, that option lifts the problem, and the manifest records "
        "it. Nothing lifts any of the others.",
    ]
    error_codes = exit_codes_of_errors()
    for exit_code, meaning in errors.EXIT_CODES.items():
        rows = [
            (
                f"`{code}`",
                f"**{kind.title}**. {kind.explanation}",
                f"`{kind.acknowledge}`" if kind.acknowledge else "",
            )
            for code, kind in PROBLEM_KINDS.items()
            if kind.exit_code == exit_code
        ]
        ending = [
            (f"`{code}`", errors.ERROR_CODES[code])
            for code in errors.ERROR_CODES
            if exit_code in error_codes.get(code, ())
        ]
        if rows or ending:
            parts.append(f"## Exit code {exit_code}: {meaning}")
        if rows:
            parts.append(table(("problem", "meaning", "`--acknowledge`"), rows))
        if ending:
            parts.append(table(("error", "meaning"), ending))
    return text_of(parts)


def exit_codes_of_errors() -> dict[str, set[int]]:
    """The exit codes of each error code: of the class whose default it is, or that is made with ``code=``."""
    found: dict[str, set[int]] = {}
    classes = {name: kind for name, kind in vars(errors).items() if is_error(kind)}
    for kind in classes.values():
        found.setdefault(kind.default_code, set()).add(kind.exit_code)
    for file in sorted(SOURCE.rglob("*.py")):
        module = ast.parse(file.read_text(encoding="utf-8"))
        constants = constants_of(module)
        for call in ast.walk(module):
            if isinstance(call, ast.Call) and (kind := classes.get(name_of(call.func))):
                for code in given_codes(call, constants):
                    found.setdefault(code, set()).add(kind.exit_code)
    return found


def is_error(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, errors.OverlaysyncError)


def name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def constants_of(module: ast.Module) -> dict[str, object]:
    """The constants of a module."""
    assigned = (item for item in module.body if isinstance(item, ast.Assign))
    return {
        target.id: item.value.value
        for item in assigned
        for target in item.targets
        if isinstance(target, ast.Name) and isinstance(item.value, ast.Constant)
    }


def given_codes(call: ast.Call, constants: Mapping[str, object]) -> list[str]:
    """The ``code=`` of a call, written there or as a constant of its module."""
    given = [item.value for item in call.keywords if item.arg == "code"]
    codes: list[object] = [item.value for item in given if isinstance(item, ast.Constant)]
    codes += [constants.get(item.id) for item in given if isinstance(item, ast.Name)]
    return [code for code in codes if isinstance(code, str)]


# -- text ------------------------------------------------------------------------------------------------

NOTE = "<!-- made by docs/generate.py from the code; edit the code and run it again -->"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def text_of(parts: Sequence[str]) -> str:
    return "\n\n".join(parts) + "\n"


def write(directory: Path, files: Mapping[str, str]) -> None:
    """Writes the files, and removes pages of commands that are no more."""
    (directory / "commands").mkdir(exist_ok=True)
    for old in (directory / "commands").glob("*.md"):
        if f"commands/{old.name}" not in files:
            old.unlink()
    for name, text in files.items():
        (directory / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(HERE, pages())
