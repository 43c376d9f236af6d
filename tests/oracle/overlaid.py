"""A real installation, the real command on it, and the judgement of the tree that it leaves."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.oracle.contents import WheelContents, content_id, is_compiled
from tests.oracle.trees import Tree, write_tree
from tests.parts.command_line import CommandLine
from tests.parts.environments import Environment, make_environment
from tests.parts.repositories import Repository
from tests.parts.wheels import pip_install

NOT_SOURCES = ("PKG-INFO", "*.egg-info/", "__pycache__/", "*.pyc")
"""What a source release holds beside the files of its repository: patterns of gitignore."""


@dataclass(frozen=True)
class Answer:
    """What ``push --json`` said."""

    outcome: str
    exit_code: int
    problems: tuple[Mapping[str, Any], ...]
    left_out: tuple[str, ...]


class Installation:
    """A wheel in an environment of its own, and the worktree of the sources that it was built from."""

    def __init__(
        self,
        directory: Path,
        distribution: str,
        wheel: Path,
        tree: Tree,
        configuration: str,
        untracked: Iterable[str],
    ) -> None:
        self._directory = directory
        self._distribution = distribution
        self._environment: Environment = make_environment(directory / "environment")
        pip_install(wheel, self._environment.executable)
        self._repository = Repository(directory / "worktree")
        excluded = self._repository.path / ".git" / "info" / "exclude"
        excluded.write_text("".join(f"{pattern}\n" for pattern in (*NOT_SOURCES, *untracked)))
        write_tree(tree, self._repository.path)
        self._commit = self._repository.commit("The sources of the installed wheel")
        self._configuration = directory / "overlaysync.toml"
        self._configuration.write_text(configuration)
        self.tracked = self.sources()

    def change(self, tree: Tree) -> None:
        """Make the worktree this tree."""
        write_tree(tree, self._repository.path)

    def sources(self) -> Mapping[str, str]:
        """Content ids of the worktree's files that git does not ignore, by path."""
        listed = self._repository.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        paths = (self._repository.path / name for name in listed.split("\0") if name)
        return {
            str(path.relative_to(self._repository.path)): content_id(path.read_bytes())
            for path in paths
            if path.is_file()
        }

    def push(self, acknowledged: Collection[str] = ()) -> Answer:
        answer = self._overlaysync(
            "push",
            "--image-commit",
            self._commit,
            *(f"--acknowledge={risk}" for risk in sorted(acknowledged)),
        )
        return Answer(
            outcome=answer["outcome"],
            exit_code=answer["exit_code"],
            problems=tuple(answer["problems"]),
            left_out=tuple(answer["details"].get("left_out", ())),
        )

    def revert(self) -> str:
        """The outcome of ``revert``, with what stands in its way."""
        answer = self._overlaysync("revert")
        return ": ".join([answer["outcome"], *(problem["message"] for problem in answer["problems"])])

    def _overlaysync(self, command: str, *arguments: str) -> Any:
        result = CommandLine(self._directory)(
            "-C",
            self._repository.path,
            command,
            f"--config={self._configuration}",
            f"--container=local:{self._environment.prefix}",
            f"--distribution={self._distribution}",
            "--json",
            *arguments,
            environment={
                "XDG_STATE_HOME": str(self._directory / "state"),
                "XDG_CACHE_HOME": str(self._directory),
            },
        )
        return result.json()

    def files(self) -> Mapping[str, bytes]:
        """The installed files, without the dist-info, bytecode and our own records."""
        top = self._environment.site_packages
        paths = (path for path in top.rglob("*") if path.is_file() or path.is_symlink())
        return {
            path.relative_to(top).as_posix(): path.read_bytes()
            for path in paths
            if not _is_bookkeeping(path.relative_to(top))
        }

    def remove(self) -> None:
        shutil.rmtree(self._directory)


def _is_bookkeeping(path: Path) -> bool:
    top = path.parts[0]
    return "__pycache__" in path.parts or top.endswith(".dist-info") or top == ".overlaysync"


def deviations(
    found: Mapping[str, bytes],
    original: WheelContents,
    expected: WheelContents,
    tracked_before: Collection[str],
    tracked_after: Collection[str],
) -> tuple[str, ...]:
    """How an overlaid tree differs from what the rebuilt wheel installs.

    What only a rebuild makes may still be as it was: compiled files, and those with a content that no
    tracked file has, neither before nor after.

    Args:
        tracked_before, tracked_after: content ids of the tracked files.
    """
    wrong = []
    for path in sorted(found.keys() | expected.files.keys()):
        here, built, before = (each.get(path) for each in (found, expected.files, original.files))
        if here == built:
            continue
        by_sources = (before is not None and content_id(before) in tracked_before) or (
            built is not None and content_id(built) in tracked_after
        )
        if here != before or (by_sources and not is_compiled(path)):
            wrong.append(f"{path}: {_difference(here, built, before)}")
    wrong += [
        f"{path}: differs, outside the package"
        for path in sorted(original.outside.keys() | expected.outside.keys())
        if original.outside.get(path) != expected.outside.get(path)
    ]
    return tuple(wrong)


def _difference(here: bytes | None, built: bytes | None, before: bytes | None) -> str:
    if here is None:
        return "a rebuild installs it, the overlay does not"
    if built is None:
        return "a rebuild does not install it, " + (
            "the overlay adds it" if before is None else "it is still there"
        )
    return "still as it was" if here == before else "another content than the rebuild's"
