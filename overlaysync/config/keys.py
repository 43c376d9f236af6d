"""Every key: what it is for, what may stand there, and how that looks in TOML."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from overlaysync.core.patterns import UNWRITABLE

_CHARACTER = f"[^{UNWRITABLE}]"
_ABSOLUTE_PATH = rf"/{_CHARACTER}*"
_PATTERN = rf"(?=.*\w){_CHARACTER}+"  # bare wildcards would switch a whole check off
_ACCOUNT = r"(?!-)[A-Za-z0-9_.-]+"


class Key(NamedTuple):
    """One key of the configuration.

    ``allowed`` completes "expected …". ``value``: the form of the string, or of each string of an array; None
    for tables.
    """

    meaning: str
    allowed: str
    example: str
    value: re.Pattern[str] | None = None


KEYS: dict[str, Key] = {
    "target": Key(
        "The target that is meant when --container is left out.",
        "a target, as --container takes it",
        'target = "docker:my-dev"',
        re.compile(rf"(?!-){_CHARACTER}+"),
    ),
    "pre-push": Key(
        "What the pre-push hook does with Python that differs from what ran.",
        '"stop", "warn" or "off"',
        'pre-push = "warn"',
        re.compile("stop|warn|off"),
    ),
    "package": Key(
        "One table for each distribution that is worked on.",
        "an array of tables",
        "[[package]]",
    ),
    "distribution": Key(
        "The installed project that is overlaid.",
        "the name of a distribution (PEP 508)",
        'distribution = "vllm"',
        re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"),
    ),
    "image-commit": Key(
        "Where the image's full commit is looked for, in this order.",
        'an array of "label:NAME", "file:/PATH", "env:NAME" or "pep610"',
        'image-commit = ["label:org.opencontainers.image.revision", "file:/opt/vllm.commit", "pep610"]',
        re.compile(rf"pep610|label:(?:(?!\s){_CHARACTER})+|env:[A-Za-z_][A-Za-z0-9_]*|file:{_ABSOLUTE_PATH}"),
    ),
    "interpreter": Key(
        "The Python that the workload runs.",
        "an absolute path in the target",
        'interpreter = "/opt/venv/bin/python"',
        re.compile(_ABSOLUTE_PATH),
    ),
    "user": Key(
        "Who writes in the target.",
        "a user name or id, with a group after a colon if need be",
        'user = "root"',
        re.compile(rf"{_ACCOUNT}(?::{_ACCOUNT})?"),
    ),
    "working-directory": Key(
        "Where the workload is started; it can come first on Python's search path.",
        "an absolute path in the target",
        'working-directory = "/workspace"',
        re.compile(_ABSOLUTE_PATH),
    ),
    "workload-ignore": Key(
        "Processes that are not the workload, by name or command line.",
        "an array of fnmatch patterns, each with a letter or digit in it",
        'workload-ignore = ["jupyter-lab*"]',
        re.compile(_PATTERN),
    ),
    "generated": Key(
        "Tracked files that the build overwrites.",
        "an array of gitignore patterns, each with a letter or digit in it",
        'generated = ["vllm/vllm_flash_attn/**"]',
        re.compile(_PATTERN),
    ),
    "ships": Key(
        "New files that the build installs, where HEAD's files do not prove it.",
        "an array of gitignore patterns, each with a letter or digit in it",
        'ships = ["vllm/new_part/**"]',
        re.compile(_PATTERN),
    ),
    "not-shipped": Key(
        "New files that the build leaves out, where HEAD's files do not prove it.",
        "an array of gitignore patterns, each with a letter or digit in it",
        'not-shipped = ["vllm/scratch/**"]',
        re.compile(_PATTERN),
    ),
    "not-built": Key(
        "Files that no build reads, in place of the built-in list.",
        "an array of gitignore patterns, each with a letter or digit in it",
        'not-built = ["docs/**", "notebooks/**"]',
        re.compile(_PATTERN),
    ),
    "watch": Key("When `watch` takes a change for settled.", "a table", "[watch]"),
    "quiet-ms": Key(
        "So long nothing has changed (default: 20).", "milliseconds, from 0 to 60000", "quiet-ms = 50"
    ),
    "bound-ms": Key(
        "Under continuous writing, so long after the first change (default: 500).",
        "milliseconds, from 0 to 60000",
        "bound-ms = 1000",
    ),
}

LONGEST_MS = 60_000
"""No change takes longer to settle."""

FILE_PATTERNS = ("generated", "ships", "not-shipped", "not-built")
"""Keys whose patterns are gitignore's."""


def shown(text: str) -> str:
    """A string of a configuration file on one short line, quoted, safe for a terminal."""
    return _quoted(text if len(text) <= 80 else text[:79] + "…")


def shown_path(path: Path) -> str:
    """The same for the path of a file, which is of use only as a whole."""
    return _quoted(str(path))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=not text.isprintable())


def key_name(key: str) -> str:
    """A key as TOML writes it: bare where it may be."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]{1,80}", key) else shown(key)
