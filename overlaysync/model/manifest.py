"""The sync manifest: the record of a transaction (``overlaysync.manifest/1``)."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from overlaysync.model.evidence import Baseline
from overlaysync.model.plan import Operation, Placement
from overlaysync.model.problem import Problem
from overlaysync.model.target import Companion, InstalledPath, Resolution, TargetIdentity, Validation
from overlaysync.model.worktree import RepoPath, Repository, Sha256

MANIFEST_SCHEMA = "overlaysync.manifest/1"


class FileRecord(Struct, frozen=True):
    """A destination as read back from the target's file system (sha256 None: no file)."""

    destination: InstalledPath
    sha256: Sha256 | None
    size: int = 0
    mode: int = 0
    uid: int = -1
    gid: int = -1
    previous_mode: int | None = None
    bytecode_dropped: tuple[str, ...] = ()
    bytecode_validation: dict[str, Validation] = field(default_factory=dict)  # of each that was dropped


class InstalledDistribution(Struct, frozen=True):
    """The distribution that the overlay lies on."""

    name: str
    version: str
    root: str
    metadata: str
    record_sha256: Sha256 | None


class InterpreterRecord(Struct, frozen=True):
    """The interpreter by which importing was proven."""

    path: str
    version: str
    prefix: str
    uid: int
    cache_tag: str | None = None
    finders: tuple[str, ...] = ()  # of sys.meta_path, in order: who is asked for a module
    user_site: str | None = None
    user_site_enabled: bool = False
    no_user_site: str | None = None


class WorkloadRecord(Struct, frozen=True):
    """What the workload check saw: how many processes could be Pythons, and which were ignored by rule."""

    checked: int = 0
    ignored: tuple[str, ...] = ()


class Acknowledgement(Struct, frozen=True):
    """A named class of risk that the user accepted, and where it applied."""

    risk: str
    paths: tuple[str, ...] = ()


class Manifest(Struct, frozen=True):
    """One transaction. ``overlay`` is the whole state after it; ``operations`` what this one did."""

    id: str
    tool: str
    time: str  # RFC 3339, UTC
    command: str
    repository: Repository
    diff_sha256: Sha256
    baseline: Baseline
    target: TargetIdentity
    interpreter: InterpreterRecord
    distribution: InstalledDistribution
    operations: tuple[Operation, ...]
    overlay: tuple[Placement, ...]
    files: tuple[FileRecord, ...]
    imports: tuple[Resolution, ...]
    workload: WorkloadRecord
    environment: dict[str, str | None] = field(default_factory=dict)  # versions of all installed projects
    companions: tuple[Companion, ...] = ()
    hooks: tuple[str, ...] = ()  # start-up hooks (.pth) on the search path
    directories: tuple[InstalledPath, ...] = ()  # that the overlay made, and that go with it
    acknowledged: tuple[Acknowledgement, ...] = ()
    not_packaged: tuple[RepoPath, ...] = ()
    packages: tuple[RepoPath, ...] = ()  # directories of the repository that hold installed Python
    unshipped: tuple[RepoPath, ...] = ()  # tracked Python in them that is not installed
    left_out: tuple[Problem, ...] = ()
    previous: str | None = None  # id of the manifest before this one
    previous_sha256: Sha256 | None = None
    timings_ms: dict[str, float] = field(default_factory=dict)
    schema: Literal["overlaysync.manifest/1"] = "overlaysync.manifest/1"
