"""Switches off the programs that a checkout's configuration names for writing and merging files."""

from __future__ import annotations

import re

from overlaysync.worktree.git import Git
from overlaysync.worktree.listing import records

_PROGRAM = re.compile(r"(filter\..*\.(?:clean|smudge|process)|merge\..*\.driver)", re.DOTALL)
NO_MERGE = "false"
"""A driver that merges nothing, so that a path which wants another one is a conflict."""


def without_programs(git: Git) -> dict[str, str]:
    """Variables for git under which no filter and no merge driver runs (git-config(1), GIT_CONFIG_COUNT).

    Without them files are written as their blobs are, and a path with a driver of its own is not merged.
    """
    answer = git.run("config", "--name-only", "-z", "--get-regexp", r"^(filter|merge)\.", expected=(0, 1))
    settings: dict[str, str] = {}
    for key in records(answer.output):
        if _PROGRAM.fullmatch(key):
            settings[key] = NO_MERGE if key.startswith("merge.") else ""
            if key.startswith("filter."):
                settings[f"{key.rpartition('.')[0]}.required"] = "false"
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables
