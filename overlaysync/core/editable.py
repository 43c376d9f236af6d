"""An editable install: its import packages are a source tree in the target, and its names are fixed.

What is installed is a map of top-level names, made at installation. A file below one is found at once;
a new name is not, and nothing that is copied changes that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from overlaysync.core.mapping import Shipped
from overlaysync.core.patterns import Patterns, quoted_pattern
from overlaysync.model.problem import Problem
from overlaysync.model.target import Distribution, Inventory, TargetIdentity
from overlaysync.model.worktree import Change, RepoPath, TreeEntry


def judge_tree(
    distribution: Distribution, inventory: Inventory, identity: TargetIdentity, worktree: str
) -> list[Problem]:
    """The source tree must be the target's own: not mounted from elsewhere, and not the worktree itself.

    ``worktree``: its root, links resolved; a target on this machine may be installed from it.
    """
    if not distribution.editable:
        return []
    root, mount = inventory.root, inventory.mounted_on
    if identity.kind == "local" and (root + "/").startswith(worktree + "/"):
        message = f"the editable install is of this very worktree ({root}), so its edits are there already"
        return [Problem("editable-install", message, "restart what runs; there is nothing to copy")]
    if identity.kind != "local" and mount not in (None, "/"):
        message = f"the editable install's source tree, {root}, lies on the mount {mount}"
        return [Problem("mount", message, "edit what is mounted there, or install in the image")]
    return []


def judge_new_names(
    distribution: Distribution,
    shipped: Shipped,
    changes: Sequence[Change],
    tree: Mapping[RepoPath, TreeEntry],
    not_shipped: Sequence[str],
) -> list[Problem]:
    """New Python beside the mapped names, in a directory or file that HEAD does not have.

    ``not_shipped``: patterns of what the configuration says is not of the distribution.
    """
    if not distribution.editable:
        return []
    excluded = Patterns(not_shipped)
    mapped = ", ".join(f"{name} ({path})" for name, path in sorted(distribution.mapped.items()))
    problems = []
    for path, name in _new_names(shipped, changes, tree):
        if name in distribution.mapped or excluded.match(path):
            continue
        message = f"{path} is of a new top-level name, {name}, and the editable install knows only {mapped}"
        next_step = (
            f"it needs a reinstall in the target (pip install --editable), with {name} there; or say that it "
            f"is not of the distribution: not-shipped = [{quoted_pattern(path)}]"
        )
        problems.append(Problem("editable-install", message, next_step, path))
    return problems


def _new_names(
    shipped: Shipped, changes: Sequence[Change], tree: Mapping[RepoPath, TreeEntry]
) -> list[tuple[RepoPath, str]]:
    known = {path.rpartition("/")[0] for path in tree}
    directories = {above for path in known for above in _with_those_above(path)}
    found = []
    for prefix in _source_roots(shipped):
        for change in changes:
            if change.head is not None or change.content is None or not change.path.endswith(".py"):
                continue
            first, slash, _ = change.path.removeprefix(prefix).partition("/")
            name = first if slash else first.removesuffix(".py")
            new = prefix + first not in directories if slash else True
            if change.path.startswith(prefix) and name.isidentifier() and new:
                found.append((change.path, name))
    return found


def _source_roots(shipped: Shipped) -> set[str]:
    """Directories that hold the import packages by their names, with a slash behind; "" for the root."""
    return {
        path.removesuffix(place)
        for path, places in shipped.destinations.items()
        for place in places
        if f"/{path}".endswith(f"/{place}")
    }


def _with_those_above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]
