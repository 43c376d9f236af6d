"""Whether a package's own code could have other files imported than those of the overlay."""

from __future__ import annotations

from collections.abc import Iterator

from overlaysync.core.package_path import may_come_first
from overlaysync.errors import BaselineError, WorktreeChangedError
from overlaysync.model.plan import Placement, Plan
from overlaysync.model.problem import Problem
from overlaysync.model.worktree import RepoPath, Snapshot
from overlaysync.worktree.worktree import Worktree

INIT = "__init__.py"


def judge(plan: Plan, snapshot: Snapshot, worktree: Worktree) -> list[Problem]:
    """A problem for each module of the overlay below a package whose ``__init__`` changes its search path."""
    sources = _Sources(snapshot, worktree)
    problems = []
    for item in plan.overlay:
        changing = [path for path in _above(item) if sources.may_come_first(path)]
        if item.installed_sha256 is not None and changing:
            message = (
                f"{changing[0]} puts something before the package's own directory in its __path__ when it "
                f"runs, so that another file may be imported in place of {item.destination}"
            )
            next_step = "see that none is there of this name, then say so: --acknowledge search-path"
            problems.append(Problem("package-path", message, next_step, item.source))
    return problems


def _above(item: Placement) -> Iterator[RepoPath]:
    """The ``__init__`` of each package that is imported before a module is looked for in it."""
    if not item.destination.endswith(".py"):
        return
    *directories, name = item.source.split("/")
    depth = item.destination.count("/")
    for level in range(name == INIT, depth):
        yield RepoPath("/".join([*directories[: len(directories) - level], INIT]))


class _Sources:
    """The sources of the worktree, each judged once."""

    def __init__(self, snapshot: Snapshot, worktree: Worktree) -> None:
        self._tree, self._worktree = snapshot.tree, worktree
        self._changes = {change.path: change for change in snapshot.changes}
        self._judged: dict[RepoPath, bool] = {}

    def may_come_first(self, path: RepoPath) -> bool:
        if path not in self._judged:
            self._judged[path] = may_come_first(self._source(path))
        return self._judged[path]

    def _source(self, path: RepoPath) -> bytes:
        change, entry = self._changes.get(path), self._tree.get(path)
        try:
            if change is not None:
                return self._worktree.content(change) if change.content is not None else b""
            return self._worktree.blob(entry.oid) if entry is not None and entry.is_file else b""
        except (BaselineError, WorktreeChangedError):
            return b""  # not in a partial clone, or told as a file that does not rest
