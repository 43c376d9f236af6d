"""A conversation with the agent: one typed method per request."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from overlaysync import errors
from overlaysync.agent import frames
from overlaysync.model.plan import Operation
from overlaysync.model.seams import KnownFiles, Process, Transport
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
from overlaysync.remote.bootstrap import OLD_PYTHON, arguments, bundle
from overlaysync.remote.channel import AGAIN, Channel

GREETING_SECONDS = 60.0
IDLE_SECONDS = 900.0
PATIENCE_SECONDS = 120.0  # for an interpreter; start-up hooks of large installations can take many
TOO_OLD = "python-too-old"
TOLD = 4000  # characters of what the target says is wrong
SHORT, LONG = 180.0, 900.0  # seconds; the long one for what grows with the size of the distribution

FAILURES: Mapping[str, type[errors.OverlaysyncError]] = {
    "locked": errors.LockedError,
    "damaged": errors.OverlayDamagedError,
    "root": errors.TargetError,
    "interpreter": errors.TargetError,
    "system": errors.TargetError,
    "stage": errors.ApplyError,
    "apply": errors.ApplyError,
    "unfinished": errors.UnfinishedError,
}
NEXT_STEPS: Mapping[str, str] = {
    "locked": "wait for the other run to end, then run the command again",
    "damaged": "look at the file; if it is of no use, re-create the target from its image",
    "unfinished": "take the cause away (a disk that is full or read-only, a file that was changed or made "
    "immutable meanwhile, or is a mount now), then run any command: the next contact continues",
    "stage": "remove the cause in the target, then run the command again",
    "apply": "let what writes there come to rest, then run the command again",
}
Opening = dict[str, Any]
"""What is opened, as the agent is asked for it."""
NOT_OURS = "look at what answers there in place of its Python, or re-create the target: overlaysync doctor"
ANOTHER_TRY = "run the command again; if it fails the same way, look at the target: overlaysync doctor"


class AgentSession:
    """The agent in one target. Close it, or use it as a context manager: what is not recorded is undone."""

    def __init__(self, channel: Channel, hello: Hello) -> None:
        self._channel = channel
        self._requests = 0
        self.hello = hello

    def __enter__(self) -> AgentSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Says goodbye; may be called again."""
        with contextlib.suppress(errors.AgentLostError):
            self._channel.send(frames.encode({"do": "bye"}), 1.0)
        self._channel.close()

    def abort(self) -> None:
        """Ends the conversation at once, for a far side that is known to be gone; any thread may call it."""
        self._channel.process.kill()

    # -- reading ---------------------------------------------------------------------------------------

    def interpreters(
        self,
        distribution: str,
        setting: Setting,
        *,
        interpreter: str | None,
        hints: Sequence[str],
        patience: float = PATIENCE_SECONDS,
        ahead: Opening | None = None,
    ) -> list[Interpreter]:
        """Every Python of the target (or just ``interpreter``), with the copies of the project it sees.

        ``patience``: seconds that all of them together have to answer. ``ahead``: what will most likely be
        opened next; the target does so while they start, and trouble with it is told when it is asked for.
        """
        fields = {"distribution": distribution, "interpreter": interpreter, "hints": hints, "ahead": ahead}
        answer = self._ask(
            "interpreters", patience + SHORT, **fields, patience=float(patience), **_workload(setting)
        )
        found: list[Interpreter] = _typed(answer.get("interpreters"), list[Interpreter])
        return found

    def processes(self, root: str | None, ignore_pids: Sequence[int]) -> list[RunningProcess] | None:
        """What is, or could be, a Python in the target; None where its processes cannot be listed.

        With ``root`` (absolute), also what has a file below it mapped.
        """
        answer = self._ask("processes", SHORT, root=root, ignore_pids=ignore_pids)
        found: list[RunningProcess] | None = _typed(answer.get("processes"), list[RunningProcess] | None)
        return found

    def read(self, path: str) -> str | None:
        """The text of a small file in the target, or None."""
        text: str | None = _typed(self._ask("read", SHORT, path=path).get("text"), str | None)
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
        listing: list[InstalledDirectory] = _typed(answer.pop("directories", None), list[InstalledDirectory])
        if any(item.files is None and told.get(item.path) != item.fingerprint for item in listing):
            raise errors.AgentLostError("the target's answer is about other files", NOT_OURS)
        inventory: Inventory = _typed({**answer, "files": ()}, Inventory)
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
        hashed, began = _files(answer, new), _typed(answer.get("began"), int)
        if known is not None:
            known.remember(hashed.values(), began)
        return [
            structs.replace(now, recorded=True, record_sha256=file.record_sha256)
            if (now := hashed.get(file.path)) is not None
            else file
            for file in files
        ]

    def release(self) -> None:
        """Lets go of the install root and its lock; an unrecorded transaction is rolled back."""
        self._ask("release", SHORT)

    def glance(
        self, root: str, distribution: str, paths: Sequence[InstalledPath], object_format: str
    ) -> tuple[str | None, dict[InstalledPath, InstalledFile]]:
        """The text of the overlay's record, and files, of an install root that is not opened."""
        answer = self._ask(
            "glance", SHORT, root=root, distribution=distribution, paths=paths, object_format=object_format
        )
        manifest: str | None = _typed(answer.get("manifest"), str | None)
        return manifest, _files(answer, paths)

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
        return _files(answer, paths)

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
            "read_back", patience + SHORT, **fields, patience=float(patience), **_workload(setting)
        )
        resolutions: list[Resolution] = _typed(answer.get("modules"), list[Resolution])
        unreadable: list[tuple[str, str]] = _typed(answer.get("unreadable"), list[tuple[str, str]])
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
        applied: Applied = _typed(answer, Applied)
        return applied

    def record(self, manifest: str | None) -> None:
        """Commits: the manifest's text stands beside the overlay (None: there is no overlay any more)."""
        self._ask("record", LONG, manifest=manifest)

    def roll_back(self) -> None:
        """Puts the old tree back. Raises ApplyError naming what is not as it was."""
        self._ask("roll_back", LONG)

    # -- the wire --------------------------------------------------------------------------------------

    def _piece(self, number: int, content: bytes, *, last: bool) -> None:
        self._channel.send(frames.encode({"do": "piece", "number": number, "last": last}, content), SHORT)

    def _ask(self, name: str, timeout: float, **fields: Any) -> dict[str, Any]:
        self._requests += 1
        try:
            json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogateescape")
            request = frames.encode({"do": name, "id": self._requests, **fields})
        except UnicodeEncodeError as error:
            raise errors.AgentLostError("the target named what is no name", NOT_OURS) from error
        except frames.FrameError as error:
            raise errors.TargetError(f"the request {name} cannot be sent: {error}") from error
        self._channel.send(request, timeout)
        try:
            frame = self._channel.receive(timeout)
        except frames.FrameError as error:
            raise errors.AgentLostError(
                f"the target's answer is not the agent's: {error}", NOT_OURS
            ) from error
        if frame is None:
            reason = self._channel.complaint.splitlines()[-1:] or ["no reason given"]
            raise errors.AgentLostError(
                f"the agent in the target ended before it answered: {reason[0]}", AGAIN
            )
        reply, _ = frame
        if reply.get("id") != self._requests:
            raise errors.AgentLostError("the target's answer is to another request", NOT_OURS)
        if "error" in reply:
            raise _failure(reply["error"])
        answer: dict[str, Any] = _typed(reply.get("ok"), dict[str, Any])
        return answer


def connect(
    transport: Transport,
    *,
    idle_limit: float = IDLE_SECONDS,
    started: Callable[[Process], None] = lambda _: None,
) -> AgentSession:
    """Starts the agent with the first Python of the target that answers. Raises TargetError.

    ``idle_limit``: seconds without a request after which the agent rolls back and ends by itself. ``started``
    is told of each process that a greeting is waited for from.
    """
    found: list[errors.OverlaysyncError] = []
    for program in transport.interpreters():
        channel = Channel(transport.start([program, *arguments(idle_limit)]))
        try:
            started(channel.process)
            channel.send(bundle(), GREETING_SECONDS)
            return AgentSession(channel, _greeting(channel))
        except (errors.AgentLostError, frames.FrameError) as error:
            trouble = _explain(transport, channel)
            if not isinstance(trouble, errors.NoInterpreterError):
                raise trouble from error
            found.append(trouble)
        except BaseException:
            channel.close()
            raise
    too_old = [error for error in found if error.code == TOO_OLD]
    raise (too_old or found or [errors.TargetError("the target names no Python to start")])[0]


def _greeting(channel: Channel) -> Hello:
    frame = channel.receive(GREETING_SECONDS)
    if frame is None:
        raise errors.AgentLostError("the agent did not start")
    hello: Hello = _typed(frame[0], Hello)
    if hello.protocol != frames.PROTOCOL:
        raise errors.AgentLostError(f"the agent speaks protocol {hello.protocol}, not {frames.PROTOCOL}")
    return hello


def _explain(transport: Transport, channel: Channel) -> errors.OverlaysyncError:
    """Why no greeting came; ends the channel. Engines tell it on either stream."""
    exit_code = channel.close()
    said = channel.said.decode("utf-8", "replace")
    if not said.startswith(OLD_PYTHON):
        return transport.explain(exit_code, "\n".join(filter(None, (said.strip(), channel.complaint))))
    version, _, path = said[len(OLD_PYTHON) :].strip().partition(" ")
    return errors.NoInterpreterError(
        f"{path} is Python {version}; the agent needs 3.8 or newer",
        "name a newer Python of the target with --interpreter PATH",
        code=TOO_OLD,
    )


def opening(
    root: str, metadata: str, distribution: str, known: KnownFiles | None, packages: Sequence[str]
) -> Opening:
    """See ``AgentSession.open``."""
    return {
        "root": root,
        "metadata": metadata,
        "distribution": distribution,
        "packages": list(packages),
        "known": known.fingerprints() if known is not None else {},
    }


def _typed(value: object, kind: Any) -> Any:
    """What the target said, checked against a type. Raises AgentLostError."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeError) as error:  # the latter for a lone surrogate in an enum
        message = f"the target's answer is malformed: {str(error)[:TOLD]}"
        raise errors.AgentLostError(message, NOT_OURS) from error


def _files(answer: dict[str, Any], paths: Sequence[InstalledPath]) -> dict[InstalledPath, InstalledFile]:
    """The files of an answer, which must be those that were asked for."""
    files: list[InstalledFile] = _typed(answer.get("files"), list[InstalledFile])
    if [file.path for file in files] != list(paths):
        raise errors.AgentLostError("the target's answer is about other files", NOT_OURS)
    return {file.path: file for file in files}


def _workload(setting: Setting) -> dict[str, Any]:
    return {
        "user": setting.user,
        "environment": setting.environment,
        "working_directory": setting.working_directory,
    }


def _failure(report: object) -> errors.OverlaysyncError:
    row: dict[str, str | None] = _typed(report, dict[str, str | None])
    kind, message, path = row.get("kind") or "bug", row.get("message") or "", row.get("path")
    text = (f"{path}: {message}" if path else message)[:TOLD]
    return FAILURES.get(kind, errors.AgentBugError)(text, NEXT_STEPS.get(kind, ANOTHER_TRY))
