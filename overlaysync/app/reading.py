"""Reads both sides, whole, before anything is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from overlaysync.app import evidence
from overlaysync.app.contact import Contact
from overlaysync.app.judging import as_judged, classify_changes
from overlaysync.app.options import Options, Stage
from overlaysync.app.records import overlay_of, read_manifest
from overlaysync.app.store import adopt
from overlaysync.core import workload
from overlaysync.core.backends import BUILD_FILES, unread_by_backend
from overlaysync.core.classify import DEFAULT_NOT_BUILT
from overlaysync.core.evidence import image_commit
from overlaysync.core.putting_back import Originals
from overlaysync.errors import WorkloadError
from overlaysync.model.classified import ClassifiedChange
from overlaysync.model.evidence import Evidence
from overlaysync.model.manifest import Manifest
from overlaysync.model.plan import Placement
from overlaysync.model.target import InstalledFile, InstalledPath, Inventory
from overlaysync.model.worktree import ObjectId, RepoPath, Snapshot, TreeEntry
from overlaysync.worktree.worktree import Worktree


class WorktreeReading(Struct, frozen=True):
    """What was read of the worktree. ``build_files``: HEAD's, by name."""

    snapshot: Snapshot
    classified: tuple[ClassifiedChange, ...]
    build_files: dict[str, bytes]


class Reading(WorktreeReading, frozen=True):
    """What was read.

    ``files``: RECORD's, without those of the dist-info, which installers write. ``known``: the commits that
    the evidence names and the repository has. ``image_tree``: the image commit's (None: it is not known).
    """

    inventory: Inventory
    files: tuple[InstalledFile, ...]
    manifest: Manifest | None
    overlay: dict[InstalledPath, Placement]
    workload: workload.Workload
    evidence: tuple[Evidence, ...]
    known: frozenset[ObjectId]
    image_tree: Mapping[RepoPath, TreeEntry] | None


def read_worktree(contact: Contact, worktree: Worktree, options: Options, stage: Stage) -> WorktreeReading:
    """The worktree, as the configuration of a target's package has it. Raises BaselineError."""
    stage("reading the worktree")
    snapshot = worktree.snapshot()
    build_files = build_files_of(snapshot.tree, worktree)
    unread = (*not_built(contact), *unread_by_backend(build_files))
    classified, unstable = classify_changes(snapshot, worktree, unread, options.cache_directory())
    snapshot = structs.replace(snapshot, problems=(*snapshot.problems, *unstable))
    return WorktreeReading(snapshot=snapshot, classified=classified, build_files=build_files)


def build_files_of(tree: Mapping[RepoPath, TreeEntry], worktree: Worktree) -> dict[str, bytes]:
    """What tells how a commit is built, by name."""
    return {
        name: worktree.blob(entry.oid)
        for name in BUILD_FILES
        if (entry := tree.get(RepoPath(name))) is not None and entry.is_file
    }


def read(
    contact: Contact,
    worktree: Worktree,
    options: Options,
    stage: Stage,
    looked: WorktreeReading | None = None,
) -> Reading:
    """Takes the lock in the target. Raises BaselineError, TargetError, LockedError, OverlayDamagedError.

    ``looked``: what was read of the worktree already.
    """
    looked = looked or read_worktree(contact, worktree, options, stage)
    snapshot = looked.snapshot
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
        snapshot=snapshot,
        classified=as_judged(looked.classified, contact.interpreter.version),
        inventory=inventory,
        files=tuple(file for file in inventory.files if not file.path.startswith(own)),
        manifest=manifest,
        overlay=overlay_of(manifest),
        workload=find_workload(contact, inventory.root),
        evidence=gathered,
        known=known,
        image_tree=tree,
        build_files=looked.build_files,
    )


def not_built(contact: Contact) -> Sequence[str]:
    """Patterns of what no build reads: the configuration's, or the built-in ones."""
    configured = contact.package.not_built
    return DEFAULT_NOT_BUILT if configured is None else configured


def originals(contact: Contact, root: str) -> Originals:
    """What the target keeps for an install root."""
    return Originals(contact.transport.shell(), root, contact.name)


def find_workload(contact: Contact, root: str) -> workload.Workload:
    """The processes of the target that could have the package of an install root loaded."""
    return workload.find(
        contact.session.processes(root, contact.own_processes()),
        contact.interpreter,
        root,
        ignore=contact.package.workload_ignore,
        whole_machine=contact.identity.kind == "local",
        shell=contact.transport.shell(),
    )


def refuse_workload(contact: Contact, inventory: Inventory) -> None:
    """The last look before anything is renamed. Raises WorkloadError for a process that started meanwhile."""
    problems = workload.judge(find_workload(contact, inventory.root))
    if problems:
        raise WorkloadError(f"{problems[0].message}; the target is as it was", problems[0].next_step)
