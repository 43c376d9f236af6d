"""A conversation with the agent: one typed method per request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from overlaysync import errors
from overlaysync.agent import frames
from overlaysync.model.plan import Operation
from overlaysync.model.seams import KnownFiles
from overlaysync.model.target import (
    Applied,
    FileKind,
    Hello,
    InstalledDirectory,
    InstalledFile,
    InstalledPath,
    Interpreter,
    Inventory,
    Resolution,
    RunningProcess,
    Setting,
)
from overlaysync.model.worktree import Sha256
from overlaysync.remote.answers import NOT_OURS, files_of, typed
from overlaysync.remote.channel import Channel
from overlaysync.remote.conversation import LONG, SHORT, Conversation
from overlaysync.remote.preparation import opening, workload_of

PATIENCE_SECONDS = 120.0  # for an interpreter; start-up hooks of large installations can take many


class AgentSession(Conversation):
    """The agent in one target. Close it, or use it as a context manager: what is not recorded is undone."""

    def __init__(self, channel: Channel, hello: Hello) -> None:
        super().__init__(channel)
        self.recovered: str | None = None  # what of an interrupted transaction was settled, and how
        self.hello = hello

    def __enter__(self) -> AgentSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- reading ---------------------------------------------------------------------------------------

    def interpreters(
        self,
        distribution: str,
        setting: Setting,
        *,
        interpreter: str | None,
        hints: Sequence[str],
        patience: float = PATIENCE_SECONDS,
    ) -> list[Interpreter]:
        """Every Python of the target (or just ``interpreter``), with the copies of the project it sees.

        ``patience``: seconds that all of them together have to answer.
        """
        fields = {"distribution": distribution, "interpreter": interpreter, "hints": hints}
        answer = self._ask(
            "interpreters", patience + SHORT, **fields, patience=float(patience), **workload_of(setting)
        )
        found: list[Interpreter] = typed(answer.get("interpreters"), list[Interpreter])
        return found

    def processes(self, root: str | None, ignore_pids: Sequence[int]) -> list[RunningProcess] | None:
        """What is, or could be, a Python in the target; None where its processes cannot be listed.

        With ``root`` (absolute), also what has a file below it mapped.
        """
        answer = self._ask("processes", SHORT, root=root, ignore_pids=ignore_pids)
        found: list[RunningProcess] | None = typed(answer.get("processes"), list[RunningProcess] | None)
        return found

    def read(self, path: str) -> str | None:
        """The text of a small file in the target, or None."""
        text: str | None = typed(self._ask("read", SHORT, path=path).get("text"), str | None)
        return text

    def open(
        self,
        root: str,
        metadata: str,
        distribution: str,
        object_format: str,
        known: KnownFiles | None = None,
        *,
        packages: Sequence[str] = (),
    ) -> Inventory:
        """Locks the install root, settles what was interrupted and takes the inventory.

        ``known``: files whose digests need not be asked for. ``packages``: what is below the root of an
        editable install, which RECORD does not list.

        Raises LockedError, OverlayDamagedError, TargetError.
        """
        fields = opening(root, metadata, distribution, known, packages)
        answer, told = self._ask("open", LONG, **fields), fields["known"]
        listing: list[InstalledDirectory] = typed(answer.pop("directories", None), list[InstalledDirectory])
        if any(item.files is None and told.get(item.path) != item.fingerprint for item in listing):
            raise errors.AgentLostError("the target's answer is about other files", NOT_OURS)
        inventory: Inventory = typed({**answer, "files": ()}, Inventory)
        self.recovered = inventory.recovered or self.recovered
        if known is None:
            files = [file for item in listing for file in item.files or ()]
        else:
            files = known.complete(listing, inventory)
        hashed = self._hash(files, object_format, known)
        return structs.replace(inventory, files=tuple(sorted(hashed, key=lambda file: file.path)))

    def _hash(
        self, files: Sequence[InstalledFile], object_format: str, known: KnownFiles | None
    ) -> list[InstalledFile]:
        """The files with digests; those that are not known yet are hashed, in the target."""
        new = [file.path for file in files if file.kind is FileKind.FILE and file.sha256 is None]
        if not new:
            return list(files)
        fields = {"paths": new, "object_format": object_format, "suffixes": [], "writable": False}
        answer = self._ask("look", LONG, **fields)
        hashed, began = files_of(answer, new), typed(answer.get("began"), int)
        if known is not None:
            known.remember(hashed.values(), began)
        return [
            structs.replace(now, recorded=True, record_sha256=file.record_sha256)
            if (now := hashed.get(file.path)) is not None
            else file
            for file in files
        ]

    def release(self) -> float | None:
        """Lets go of the install root and its lock; an unrecorded transaction is rolled back.

        When a transaction last ended there, as ``peek`` tells it; None where nothing was open.
        """
        changed_at: float | None = typed(self._ask("release", SHORT).get("changed_at"), float | None)
        return changed_at

    def peek(self, root: str, distribution: str) -> float:
        """When a transaction last changed something in an install root that is not opened, by its clock."""
        answer = self._ask("peek", SHORT, root=root, distribution=distribution)
        changed_at: float = typed(answer.get("changed_at"), float)
        return changed_at

    def glance(
        self, root: str, distribution: str, paths: Sequence[InstalledPath], object_format: str
    ) -> tuple[str | None, dict[InstalledPath, InstalledFile]]:
        """The text of the overlay's record, and files, of an install root that is not opened."""
        answer = self._ask(
            "glance", SHORT, root=root, distribution=distribution, paths=paths, object_format=object_format
        )
        manifest: str | None = typed(answer.get("manifest"), str | None)
        return manifest, files_of(answer, paths)

    def look(
        self,
        paths: Sequence[InstalledPath],
        *,
        object_format: str,
        suffixes: Sequence[str] = (),
        writable: bool = False,
    ) -> dict[InstalledPath, InstalledFile]:
        """The files at these destinations as they are now."""
        answer = self._ask(
            "look", LONG, paths=paths, object_format=object_format, suffixes=suffixes, writable=writable
        )
        return files_of(answer, paths)

    def read_back(
        self,
        interpreter: str,
        setting: Setting,
        modules: Sequence[str],
        files: Sequence[str],
        *,
        code: bool = True,
        patience: float = PATIENCE_SECONDS,
    ) -> tuple[list[Resolution], list[tuple[str, str]]]:
        """What a Python that starts now resolves ``modules`` to; which ``files`` it cannot read, and why.

        ``code``: whether what would run is compared with the source (``Resolution.runs_source``).
        """
        fields = {"interpreter": interpreter, "modules": modules, "files": files, "code": code}
        answer = self._ask(
            "read_back", patience + SHORT, **fields, patience=float(patience), **workload_of(setting)
        )
        resolutions: list[Resolution] = typed(answer.get("modules"), list[Resolution])
        unreadable: list[tuple[str, str]] = typed(answer.get("unreadable"), list[tuple[str, str]])
        if [row.module for row in resolutions] != list(modules) or not {*dict(unreadable)} <= {*files}:
            raise errors.AgentLostError("the target's answer is about other modules", NOT_OURS)
        return resolutions, unreadable

    # -- writing ---------------------------------------------------------------------------------------

    def begin(
        self,
        identity: str,
        operations: Sequence[Operation],
        executable: Iterable[InstalledPath] = (),
        removable: Sequence[InstalledPath] = (),
    ) -> None:
        """Begins a transaction.

        ``executable``: new files that shall have mode 0755. ``removable``: directories that earlier
        transactions made, which go when they are empty again.
        """
        modes = set(executable)
        rows = [
            {
                "path": operation.destination,
                "before": operation.before,
                "after": operation.after,
                "restores": operation.restores,
                "keeps_original": operation.keeps_original,
                "executable": operation.destination in modes,
            }
            for operation in operations
        ]
        self._ask("begin", SHORT, identity=identity, operations=rows, removable=removable)

    def stage(self, number: int, pieces: Iterable[bytes]) -> None:
        """Streams the new content of operation ``number``; trouble is told by ``apply``."""
        held = b""
        for piece in pieces:
            for start in range(0, len(piece), frames.BODY_LIMIT):
                if held:
                    self._piece(number, held, last=False)
                held = piece[start : start + frames.BODY_LIMIT]
        self._piece(number, held, last=True)

    def apply(self, pycache_prefixes: Sequence[str], search_path: Sequence[str] = ()) -> Applied:
        """Puts everything in place. Raises ApplyError.

        ``search_path``: of the interpreter; below a prefix, the install root is spelled as it is there.
        """
        answer = self._ask("apply", LONG, pycache_prefixes=pycache_prefixes, search_path=search_path)
        applied: Applied = typed(answer, Applied)
        return applied

    def write_record(self, manifest: str | None) -> None:
        """Writes what ``record`` will put in place, so that no more room is needed then. Raises ApplyError.

        ``manifest``: the text that will stand beside the overlay; None where there will be no overlay.
        """
        self._ask("write_record", LONG, manifest=manifest)

    def record(self, expected: Mapping[InstalledPath, Sha256 | None] | None = None) -> None:
        """Commits: what was written is the overlay's record. Raises ApplyError, after rolling back.

        ``expected``: files that must be as they were proven, after a wait; None for no file.
        """
        self._ask("record", LONG, expected=dict(expected or {}))

    def roll_back(self) -> None:
        """Puts the old tree back. Raises ApplyError naming what is not as it was."""
        self._ask("roll_back", LONG)

    def _piece(self, number: int, content: bytes, *, last: bool) -> None:
        self._channel.send(frames.encode({"do": "piece", "number": number, "last": last}, content), SHORT)
