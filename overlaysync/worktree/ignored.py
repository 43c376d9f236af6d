"""Lists Python files that an ignore rule keeps out of the difference; the host imports them all the same."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from overlaysync.model.worktree import IgnoredFile, RepoPath
from overlaysync.worktree.files import BehindLinkError, Folders
from overlaysync.worktree.git import Answer, Git, Pending, decode, encode
from overlaysync.worktree.listing import parse_ignore_rules, parse_paths

MOST = 200
"""More files than this are not named: it is a report for people."""

_MOST_ENTRIES = 20_000
"""Directory entries looked at: an ignored directory may hold millions of data files."""

_NEGATED = re.compile(r":\d+:!")

_NO_SOURCE = {".git", "node_modules", "__pycache__"}
_FOREIGN = {
    ".git",
    "pyvenv.cfg",
    "conda-meta",
}  # a directory that holds one is another repository or environment


def list_ignored(git: Git) -> Pending:
    """Have git list what is ignored, directories as a whole, while other work is done."""
    return git.begin("ls-files", "--others", "--ignored", "--directory", "--exclude-standard", "-z")


def ignored_files(git: Git, listing: Answer) -> tuple[IgnoredFile, ...]:
    """Up to ``MOST`` untracked ignored ``.py`` files of the listing, each with the rule that git names."""
    with Folders(git.directory) as folders:
        paths = sorted(_python_files(folders, parse_paths(listing.output)))[:MOST]
    return tuple(IgnoredFile(path, rule) for path, rule in _rules(git, paths))


def ignored_by_user(git: Git, new: Iterable[RepoPath]) -> tuple[IgnoredFile, ...]:
    """Those of the new ``.py`` files that a rule of the user's own keeps out of ``git add``."""
    paths = [path for path in new if path.endswith(".py")][:MOST]
    rules = _user_rules(git) if paths else None
    if rules is None:
        return ()
    found = _rules(git, paths, "-c", f"core.excludesFile={rules}")
    return tuple(IgnoredFile(path, rule, by_user=True) for path, rule in found)


def _user_rules(git: Git) -> str | None:
    """The file of the user's ignore rules; the repository's configuration is not asked where it is."""
    answer = git.run("config", "--global", "--path", "--get", "core.excludesFile", expected=(0, 1))
    default = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config", "git/ignore").expanduser()
    file = answer.text.removesuffix("\n") or decode(os.fsencode(default))
    return file if Path(os.fsdecode(encode(file))).is_file() else None


def _rules(git: Git, paths: Sequence[RepoPath], *options: str) -> Iterator[tuple[RepoPath, str]]:
    """Those of the untracked paths that are ignored, each with its rule."""
    if not paths:
        return
    # "./" because a path that begins with ":" would be pathspec magic
    given = b"".join(encode(f"./{path}") + b"\0" for path in paths)
    answer = git.run(*options, "check-ignore", "--verbose", "-z", "--stdin", given=given, expected=(0, 1))
    rules = parse_ignore_rules(answer.output)
    named = ((path, rules.get(RepoPath(f"./{path}"), "")) for path in paths)
    # git lists a directory with nothing but ignored files as a whole too; what no rule names is not ignored.
    yield from ((path, rule) for path, rule in named if rule and not _NEGATED.search(rule))


def _python_files(folders: Folders, listed: list[RepoPath]) -> set[RepoPath]:
    found = {path for path in listed if path.endswith(".py")}
    pending = [path.rstrip("/") for path in listed if path.endswith("/")]
    left = _MOST_ENTRIES
    while pending and left > 0 and len(found) < MOST:
        directory = pending.pop()
        if directory.rpartition("/")[2] in _NO_SOURCE:
            continue
        entries = list(_entries(folders, directory, left))
        left -= len(entries)
        if _FOREIGN.isdisjoint(name for name, _ in entries):
            found.update(
                RepoPath(f"{directory}/{name}")
                for name, folder in entries
                if not folder and name.endswith(".py")
            )
            pending.extend(f"{directory}/{name}" for name, folder in entries if folder)
    return found


def _entries(folders: Folders, directory: str, limit: int) -> Iterator[tuple[str, bool]]:
    """Names in a directory and whether each is one itself; nothing where it cannot be entered."""
    try:
        with os.scandir(folders.enter(directory)) as entries:
            for entry, _ in zip(entries, range(limit), strict=False):
                name = os.fsencode(entry.name).decode("utf-8", "surrogateescape")
                yield name, entry.is_dir(follow_symlinks=False)
    except (OSError, BehindLinkError):
        return
