"""What a target is and what the agent reports of it.

Everything here that comes from the target is untrusted: it is validated against these types when it is
decoded, and no path of it is ever used on the host.
"""

from __future__ import annotations

import enum
import math
from typing import NewType

from msgspec import Struct, field

from overlaysync.model.stamp import Stamp
from overlaysync.model.worktree import ObjectId, Sha256

InstalledPath = NewType("InstalledPath", str)
"""A path below the install root (the directory that holds the dist-info): ``/`` separated, relative."""

UNKNOWN = "unknown"


class TargetIdentity(Struct, frozen=True):
    """Which target this is, as the engine tells. What the engine does not tell is ``unknown``.

    ``image_id`` is what this engine calls the image by: the digest of its configuration, its manifest or its
    index, by the engine's store. ``repo_digests`` are manifests or indexes, with registry and repository.
    """

    kind: str
    name: str
    container_id: str = UNKNOWN
    created_at: str = UNKNOWN
    started_at: str = UNKNOWN
    image_id: str = UNKNOWN
    image_name: str = UNKNOWN
    config_digest: str = UNKNOWN
    manifest_digest: str = UNKNOWN  # of the platform that runs
    index_digest: str = UNKNOWN  # over all platforms, where the image came as one
    repo_digests: tuple[str, ...] = ()
    platform: str = UNKNOWN
    engine: str = UNKNOWN

    @property
    def specification(self) -> str:
        """As ``--container`` takes it."""
        return f"{self.kind}:{self.name}"

    @property
    def itself(self) -> str:
        """What no other target of its kind is called, now or later: a container's id, or else the name."""
        return self.name if self.container_id == UNKNOWN else self.container_id


class Setting(Struct, frozen=True):
    """How a workload of this target would be started, as far as the engine's configuration tells.

    ``user``: as configured (name, uid, or uid:gid; empty for the engine's default). ``environment`` holds
    what the configuration sets, not what a process has. ``command``: entry point and arguments.
    """

    user: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    working_directory: str | None = None
    command: tuple[str, ...] = ()


class Hello(Struct, frozen=True):
    """The agent's first frame."""

    protocol: int
    python: str
    executable: str
    pid: int
    uid: int
    gid: int
    machine: str


class Distribution(Struct, frozen=True):
    """One installed copy of the project (its ``dist-info`` or ``egg-info``) on a search path."""

    root: str  # the search path entry that holds it, links resolved
    metadata: str  # the directory's name in root
    version: str
    form: str  # "dist-info", "egg-info", "egg-link", "egg"
    editable: bool = False
    mapped: dict[str, str] = field(default_factory=dict)  # of an editable install: top-level name to place
    direct_url: str | None = None  # PEP 610 document, as text
    requires: tuple[str, ...] = ()  # Requires-Dist of its METADATA

    @property
    def place(self) -> str | None:
        """The directory that its import packages stand in; None where they have none in common."""
        if not self.editable:
            return self.root if self.form == "dist-info" else None
        if not all(path.endswith(f"/{name}") for name, path in self.mapped.items()):
            return None
        directories = {path.rpartition("/")[0] for path in self.mapped.values()}
        return directories.pop() if len(directories) == 1 else None


class Companion(Struct, frozen=True):
    """A project of the environment that the distribution's compiled parts have to fit, or the distribution.

    ``required``: by the distribution's metadata; otherwise only named after it. ``version`` None: unknown.
    ``changed_at``: when its RECORD or one of its libraries last changed in any way, which no program can set;
    ``written_at``: when by their times of modification, which can be set. Seconds since the epoch. Of the
    distribution itself RECORD's alone: its libraries are hashed.
    """

    name: str
    required: bool = True
    version: str | None = None
    record_sha256: Sha256 | None = None
    changed_at: float | None = None
    written_at: float | None = None


class Resolution(Struct, frozen=True):
    """What a fresh interpreter of the target resolves a module name to, without importing anything.

    ``origin`` is None where there is no such module or no file behind it; ``locations`` are the directories
    of a package. ``runs_source``: the code that the loader would run equals the compiled source file (None:
    not judged, no source). ``error``: why it could not be resolved or read.
    """

    module: str
    origin: str | None = None
    locations: tuple[str, ...] = ()
    loader: str | None = None
    runs_source: bool | None = None
    error: str | None = None


class Interpreter(Struct, frozen=True):
    """One Python of the target, as itself reports under the workload's environment."""

    path: str
    real: str
    prefix: str
    version: str = UNKNOWN
    cache_tag: str | None = None
    extension_suffixes: tuple[str, ...] = ()
    pycache_prefix: str | None = None
    search_path: tuple[str, ...] = ()
    finders: tuple[str, ...] = ()
    user_site: str | None = None
    user_site_enabled: bool = False
    no_user_site: str | None = None  # PYTHONNOUSERSITE as the workload has it
    uid: int = -1
    installed: dict[str, str | None] = field(default_factory=dict)  # versions of all projects it sees
    companions: tuple[Companion, ...] = ()
    hooks: tuple[str, ...] = ()  # .pth files and customising modules: they run at every start
    distributions: tuple[Distribution, ...] = ()
    packages: tuple[Resolution, ...] = ()  # the distribution's top-level names, resolved
    suspected: str | None = None  # a dist-info of the project that it does not show (see agent/places.py)
    error: str | None = None

    @property
    def holds(self) -> bool:
        return bool(self.distributions)


class RunningProcess(Struct, frozen=True):
    """One process of the target that is, or could be, a Python. ``None`` means unknown, never empty."""

    pid: int
    uid: int
    name: str
    started: float  # seconds since the epoch
    command: tuple[str, ...] | None = None
    executable: str | None = None
    python: bool | None = None
    launched_as: str | None = None  # path of the interpreter as it was started, before links are resolved
    prefix: str | None = None
    base_prefix: str | None = None  # another environment that it sees too
    first_on_path: str | None = None  # the directory of its script, or its working directory
    python_path: tuple[str, ...] | None = None
    mapped: tuple[str, ...] = ()  # files below the install root in its memory, or open in it
    loaded: float | None = None  # when its program was started: that of its parent, where it was only forked
    orphaned: bool = False  # only forked, by a process that is gone: when its program was started is unknown


class Validation(str, enum.Enum):
    """How bytecode is told to be still its source's (PEP 552): unchecked, it is trusted for ever."""

    TIMESTAMP = "timestamp"
    CHECKED_HASH = "checked-hash"
    UNCHECKED_HASH = "unchecked-hash"
    UNKNOWN = UNKNOWN


class FileKind(str, enum.Enum):
    FILE = "file"
    MISSING = "missing"
    LINK = "link"  # the path or a directory above it is a symbolic link
    OTHER = "other"  # directory, device, FIFO, socket
    UNREADABLE = "unreadable"


class InstalledFile(Struct, frozen=True):
    """One installed path, looked at through directory handles that follow no link.

    ``record_sha256``: what the distribution's RECORD says (None: no hash there, or not recorded).
    ``blob``: git's object id of the content, to compare with HEAD's tree.
    """

    path: InstalledPath
    kind: FileKind
    recorded: bool = False
    record_sha256: Sha256 | None = None
    size: int = 0
    mode: int = 0
    uid: int = -1
    gid: int = -1
    links: int = 1
    sha256: Sha256 | None = None
    blob: ObjectId | None = None
    stamp: Stamp | None = None  # of a regular file
    twins: tuple[str, ...] = ()  # extension modules and bytecode that would be imported before or without it
    linked_cache: bool = False  # the __pycache__ beside it is a link
    unwritable: str | None = None  # why the writing user may not replace it
    error: str | None = None


class InstalledDirectory(Struct, frozen=True):
    """What RECORD lists in one directory. ``files``: None where all have the status that the host knows.

    ``fingerprint``: of the status of every file, of RECORD's hashes and of what stands beside them.
    """

    path: str
    fingerprint: str
    files: tuple[InstalledFile, ...] | None = None


class Applied(Struct, frozen=True):
    """What applying a transaction did beside its operations: bytecode dropped, directories made.

    ``dropped``: of each source the bytecode files, below the install root or absolute, with their validation.
    """

    dropped: dict[str, dict[str, Validation]]
    made: tuple[InstalledPath, ...] = ()


class Inventory(Struct, frozen=True):
    """The distribution in the target: RECORD's files as they are now, and what surrounds them."""

    root: str
    metadata: str
    record_sha256: Sha256 | None
    files: tuple[InstalledFile, ...]
    strays: tuple[InstalledPath, ...] = ()  # unrecorded, and imported in place of a recorded module
    extensions: tuple[InstalledPath, ...] = ()  # unrecorded, and looking like extension modules
    outside: tuple[str, ...] = ()  # RECORD entries that leave the install root
    mounts: tuple[str, ...] = ()  # mount points at or below the install root
    mounted_on: str | None = None  # the mount point that the install root lies on
    file_system: str | None = None  # its type there, as the kernel calls it
    manifest: str | None = None  # text of the overlay's manifest in the target
    changed_at: float = math.inf  # when a transaction last ended: seconds since the epoch, the target's clock
    recovered: str | None = None  # what an interrupted transaction was turned into
