"""The protocols of the seams: what the host needs of a transport, and nothing more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import BinaryIO, Protocol

from overlaysync.errors import OverlaysyncError
from overlaysync.model.target import InstalledDirectory, InstalledFile, Inventory, Setting, TargetIdentity


class Process(Protocol):
    """A started process: its pipes, and how it ended. Its exit code proves nothing (design §5).

    ``unsent``: what of its first input its pipe did not take yet.
    """

    unsent: bytes

    @property
    def stdin(self) -> BinaryIO: ...
    @property
    def stdout(self) -> BinaryIO: ...
    @property
    def stderr(self) -> BinaryIO: ...
    def wait(self, timeout: float) -> int | None:
        """The exit code, or None when it has not ended after ``timeout`` seconds."""

    def kill(self) -> None: ...


class KnownFiles(Protocol):
    """A target's files as they were looked at and hashed before."""

    def fingerprints(self) -> dict[str, str]:
        """Of the directories that are known (see ``InstalledDirectory``)."""

    def complete(self, listing: Sequence[InstalledDirectory], inventory: Inventory) -> list[InstalledFile]:
        """Every file of a listing, with digests where they are known; ``inventory``: all but the files."""

    def remember(self, files: Iterable[InstalledFile], began: int) -> None:
        """Keeps the digests of files; ``began``: before they were read, in ns by the target's clock."""


class Transport(Protocol):
    """Starts processes in one target."""

    def describe(self) -> TargetIdentity:
        """Identity as the engine tells. Raises TargetError when the target cannot be used."""

    def setting(self) -> Setting:
        """How a workload would be started there."""

    def labels(self) -> dict[str, str]:
        """The labels of the image (never of the container)."""

    def interpreters(self) -> Sequence[str]:
        """Programs to try, in order, for starting the agent."""

    def shell(self) -> str:
        """What a person types before a quoted shell line for the target; empty where nothing is needed."""

    def start(self, argv: Sequence[str], first: bytes = b"") -> Process:
        """A process, which is sent ``first`` as soon as it is there, as far as its pipe takes it."""

    def events(self) -> Process | None:
        """A process that writes a line when the target's state changes; None where nobody tells."""

    def explain(self, exit_code: int | None, stderr: str) -> OverlaysyncError:
        """The error behind a process that ended without the agent's greeting."""

    def close(self) -> None: ...
