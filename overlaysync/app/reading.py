"""Reads both sides, whole, before anything is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from overlaysync.app import evidence
from overlaysync.app.contact import Contact
from overlaysync.app.options import Options, Stage
from overlaysync.app.records import overlay_of, read_manifest
from overlaysync.app.store import adopt
from overlaysync.core import workload
from overlaysync.core.backends import BUILD_FILES, unread_by_backend
from overlaysync.core.classify import (
    DEFAULT_NOT_BUILT,
    classify,
    classify_set,
    needs_beginning,
    needs_content,
)
from overlaysync.core.evidence import image_commit
from overlaysync.core.finding import in_development
from overlaysync.errors import WorkloadError, WorktreeChangedError
from overlaysync.model.classified import ClassifiedChange
from overlaysync.model.evidence import Evidence
from overlaysync.model.manifest import Manifest
from overlaysync.model.plan import Placement
from overlaysync.model.problem import Problem
from overlaysync.model.target import InstalledFile, InstalledPath, Inventory
from overlaysync.model.worktree import Change, ObjectId, RepoPath, Snapshot, TreeEntry
from overlaysync.state.directories import cache_directory
from overlaysync.worktree.worktree import Worktree, open_worktree

MOST_JUDGED = 4096
"""Changes whose class is kept in mind."""
_JUDGED: dict[tuple[Change, tuple[str, ...]], ClassifiedChange] = {}


class Reading(Struct, frozen=True):
    """What was read.

    ``files``: RECORD's, without those of the dist-info, which installers write. ``known``: the commits that
    the evidence names and the repository has. ``image_tree``: the image commit's (None: it is not known).
    """

    snapshot: Snapshot
    classified: tuple[ClassifiedChange, ...]
    inventory: Inventory
    files: tuple[InstalledFile, ...]
    manifest: Manifest | None
    overlay: dict[InstalledPath, Placement]
    workload: workload.Workload
    evidence: tuple[Evidence, ...]
    known: frozenset[ObjectId]
    image_tree: Mapping[RepoPath, TreeEntry] | None
    build_files: dict[str, bytes]  # HEAD's, by name


def reading_ahead(options: Options, *, capture: bool = False) -> Worktree:
    """The worktree, which is looked at while the target is contacted. Raises UsageError, BaselineError."""
    worktree = open_worktree(options.worktree, cache_directory(), capture=capture)
    worktree.begin_snapshot()
    return worktree


def read(contact: Contact, worktree: Worktree, options: Options, stage: Stage) -> Reading:
    """Takes the lock in the target. Raises BaselineError, TargetError, LockedError, OverlayDamagedError."""
    stage("reading the worktree")
    snapshot = worktree.snapshot()
    build_files = {
        name: worktree.blob(entry.oid)
        for name in BUILD_FILES
        if (entry := snapshot.tree.get(RepoPath(name))) is not None and entry.is_file
    }
    unread = (*not_built(contact), *unread_by_backend(build_files))
    classified, unstable = _classify(snapshot, worktree, unread)
    stage("reading the target")
    inventory = contact.open(snapshot.repository.object_format)
    manifest = read_manifest(contact, inventory)
    adopt(options, contact, manifest, snapshot.repository.root)
    gathered = evidence.gather(contact, options.image_commit)
    known = frozenset(item.commit for item in gathered if item.commit and worktree.has_commit(item.commit))
    commit = image_commit(gathered)
    tree = snapshot.tree if commit == snapshot.repository.head else None
    if commit in known and commit is not None and tree is None:
        tree = worktree.tree(commit)
    own = inventory.metadata + "/"
    return Reading(
        snapshot=structs.replace(snapshot, problems=(*snapshot.problems, *unstable)),
        classified=classified,
        inventory=inventory,
        files=tuple(file for file in inventory.files if not file.path.startswith(own)),
        manifest=manifest,
        overlay=overlay_of(manifest),
        workload=find_workload(contact, inventory.root),
        evidence=gathered,
        known=known,
        image_tree=tree,
        build_files=build_files,
    )


def not_built(contact: Contact) -> Sequence[str]:
    """Patterns of what no build reads: the configuration's, or the built-in ones."""
    configured = contact.package.not_built
    return DEFAULT_NOT_BUILT if configured is None else configured


def find_workload(contact: Contact, root: str) -> workload.Workload:
    """The processes of the target that could have the package of an install root loaded."""
    return workload.find(
        contact.session.processes(root, contact.own_processes()),
        contact.interpreter,
        root,
        ignore=contact.package.workload_ignore,
        whole_machine=contact.identity.kind == "local",
    )


def refuse_workload(contact: Contact, inventory: Inventory) -> None:
    """The last look before anything is renamed. Raises WorkloadError for a process that started meanwhile."""
    problems = workload.judge(find_workload(contact, inventory.root))
    if problems:
        raise WorkloadError(f"{problems[0].message}; nothing was changed", problems[0].next_step)


def _contents(change: Change, worktree: Worktree) -> tuple[bytes | None, bytes | None]:
    """HEAD's content and the worktree's, as far as they tell the class: of data, how the latter begins."""
    if needs_content(change.path):
        head = change.head
        before = worktree.blob(head.oid) if head is not None and head.is_file else None
        return before, worktree.content(change) if change.content is not None else None
    if change.content is None or not needs_beginning(change.path):
        return None, None
    try:
        return None, next(worktree.stream(change), b"")
    except WorktreeChangedError:
        return None, None  # a file that is no part of the package may be written to; else its copy tells


def _classified(change: Change, worktree: Worktree, patterns: Sequence[str]) -> ClassifiedChange:
    """A change names both its contents by their digests: in a watch most were judged at the save before."""
    key = (change, tuple(patterns))
    if (known := _JUDGED.get(key)) is not None:
        return known
    before, after = _contents(change, worktree)
    judged = classify(change, before, after, not_built=patterns)
    if needs_content(change.path):  # else it was not read to its end, so that it may be another by now
        if len(_JUDGED) >= MOST_JUDGED:
            _JUDGED.clear()
        _JUDGED[key] = judged
    return judged


def _classify(
    snapshot: Snapshot, worktree: Worktree, patterns: Sequence[str]
) -> tuple[tuple[ClassifiedChange, ...], list[Problem]]:
    """Classes of all changes, and the files that change while they are read.

    Contents are read one path at a time, and only where they are looked at.
    """
    broken = {problem.path for problem in snapshot.problems}
    found, unstable = [], []
    for change in snapshot.changes:
        try:
            if change.path in broken:
                found.append(classify(change, None, None, not_built=patterns))
            else:
                found.append(_classified(change, worktree, patterns))
        except WorktreeChangedError as error:
            next_step = "let what writes it come to rest, then run the command again"
            unstable.append(Problem("unstable-file", error.message, next_step, change.path))
    classified = classify_set(found, snapshot.tree.keys())
    if (ported := snapshot.repository.ported) is not None:
        classified = tuple(
            structs.replace(
                item, problems=tuple(in_development(each, item.change, ported) for each in item.problems)
            )
            for item in classified
        )
    return classified, unstable
