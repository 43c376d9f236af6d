"""The one place that turns exceptions into messages and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from overlaysync import __version__
from overlaysync.cli.terminal import Terminal, clean, json_text

BUG, USAGE = 70, 2


def run(group: click.Command, arguments: Sequence[str], given: object = None) -> int:
    """Runs the command line; the exit code. Nothing of Python's own ever reaches the user.

    ``given``: what the group's context has as its object.
    """
    as_json = "--json" in arguments
    command = _named(arguments)
    try:
        code = group.main(list(arguments), prog_name="overlaysync", standalone_mode=False, obj=given)
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except (click.Abort, KeyboardInterrupt):
        from overlaysync.errors import InterruptedRunError

        return _expected(InterruptedRunError(), command, as_json)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        return 0
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        named = context.command_path if context is not None else f"overlaysync {command}".strip()
        help_text = f"{named} --help"
        return _fail("usage", _sentence(error.format_message()), help_text, USAGE, as_json, command)
    except Exception as error:
        return _expected(error, command, as_json)


def _named(arguments: Sequence[str]) -> str:
    """The command that the words name, as results call it (``manifest list``)."""
    words = iter(arguments)
    for word in words:
        if word in ("-C", "--worktree"):
            next(words, None)
        elif not word.startswith("-"):
            following = next(words, "-") if word in ("manifest", "hook", "daemon") else "-"
            return word if following.startswith("-") else f"{word} {following}"
    return ""


def _sentence(text: str) -> str:
    """click's messages in the style of ours: lower-case, no full stop, on one line."""
    text = " ".join(text.split())
    return (text[:1].lower() + text[1:]).removesuffix(".")


def _expected(error: Exception, command: str, as_json: bool) -> int:
    from overlaysync.errors import OverlaysyncError

    if isinstance(error, OverlaysyncError) and error.exit_code != BUG:
        return _fail(error.code, error.message, error.next_step, error.exit_code, as_json, command)
    path = _write_report(error)
    message = f"a bug of overlaysync: {type(error).__name__}: {error}"
    return _fail("internal", message, f"send the report {path}", BUG, as_json, command)


def _fail(code: str, message: str, next_step: str | None, exit_code: int, as_json: bool, command: str) -> int:
    """Tells the failure, on standard error, or as the one object of ``--json``."""
    if as_json:
        problem = {"code": code, "path": None, "message": message, "next_step": next_step}
        from overlaysync.errors import REFUSALS

        outcome = "refused" if exit_code in REFUSALS else "failed"
        print(json_text(_document(command, outcome, exit_code, problem)))
    else:
        Terminal().failure(code, clean(message), clean(next_step) if next_step else None, exit_code)
    return exit_code


def _document(
    command: str, outcome: str, exit_code: int, problem: dict[str, str | None]
) -> dict[str, object]:
    return {
        "schema": "overlaysync.result/1",
        "command": command,
        "outcome": outcome,
        "exit_code": exit_code,
        "target": None,
        "baseline": None,
        "operations": [],
        "problems": [problem],
        "not_packaged": [],
        "manifest": None,
        "timings_ms": {"total": 0.0},
        "details": {},
        "targets": [],
    }


def _write_report(error: Exception) -> str:
    """A file with versions and traceback; no environment, no arguments, which may hold secrets."""
    import tempfile
    import traceback

    handle, path = tempfile.mkstemp(prefix="overlaysync-report-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as stream:
        stream.write(f"overlaysync {__version__}\nPython {sys.version}\n\n")
        stream.write("".join(traceback.format_exception(error)))
    return path
