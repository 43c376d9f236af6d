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
        told = [sentence for path in _above(item) if (sentence := sources.judge(path)) is not None]
        if item.installed_sha256 is not None and told:
            message = f"{told[0]}, so that another file may be imported in place of {item.destination}"
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
        self._judged: dict[RepoPath, str | None] = {}

    def judge(self, path: RepoPath) -> str | None:
        """What an ``__init__`` does to the search path, or that this is not known; None: nothing."""
        if path not in self._judged:
            self._judged[path] = self._sentence(path)
        return self._judged[path]

    def _sentence(self, path: RepoPath) -> str | None:
        source = self._source(path)
        does = "puts something before the package's own directory in its __path__ when it runs"
        if source is None:
            return (
                f"{path} cannot be read here (a partial clone lacks its content), and may be one that {does}"
            )
        return f"{path} {does}" if may_come_first(source) else None

    def _source(self, path: RepoPath) -> bytes | None:
        """None: it is not known."""
        change, entry = self._changes.get(path), self._tree.get(path)
        try:
            if change is not None:
                return self._worktree.content(change) if change.content is not None else b""
            return self._worktree.blob(entry.oid) if entry is not None and entry.is_file else b""
        except (BaselineError, WorktreeChangedError):
            return None
