"""The way back by hand for a file of the overlay that was edited in the target: nothing overwrites it."""

from __future__ import annotations

import shlex

from msgspec import Struct

from overlaysync.model.plan import Placement
from overlaysync.model.problem import Problem
from overlaysync.model.target import FileKind, InstalledFile, InstalledPath

RE_CREATE = "save the target's file if it matters, then re-create the target"


class Originals(Struct, frozen=True):
    """Where a target keeps what the overlay replaced, and what a person types to have a line run there.

    ``shell``: before the quoted line; empty where nothing is needed. ``root``: the install root. ``name``:
    the distribution.
    """

    shell: str
    root: str
    name: str

    def kept(self, destination: InstalledPath) -> InstalledPath:
        """The kept original of a destination, below the install root."""
        return InstalledPath(f".overlaysync/{self.name}/originals/{destination}")

    def way_back(self, placement: Placement, file: InstalledFile) -> str:
        """What to do about a file that is not as it was put there."""
        current = file.sha256 if file.kind is FileKind.FILE else None
        if file.kind in (FileKind.FILE, FileKind.MISSING) and current == placement.original_sha256:
            return "push again, or take the rest back too: overlaysync revert"
        place = f"{self.root}/{placement.destination}"
        if file.kind not in (FileKind.FILE, FileKind.MISSING) or not place.isprintable():
            return RE_CREATE
        if placement.original_sha256 is None or placement.installed_sha256 is None:
            what, line = "remove it", shlex.join(["rm", place])
        else:
            what, line = "put the original back", self._copy(placement.destination)
        command = f"{self.shell} {shlex.quote(line)}" if self.shell else line
        saved = "" if current is None else "save the target's file if it matters; then "
        return f"{saved}{what}, and push or revert again: {command}"

    def _copy(self, destination: InstalledPath) -> str:
        """Never in place: there, or beside it, may be a link, and its other name an installer's cache."""
        there = f"./{destination}" if destination.startswith("-") else destination
        new = f"{there}.new"
        steps = (["cd", self.root], ["rm", "-f", new], ["cp", "-p", self.kept(destination), new])
        line = " && ".join(map(shlex.join, (*steps, ["mv", "-f", new, there])))
        return line if self.shell else f"({line})"

    def judge(self, placement: Placement, file: InstalledFile) -> Problem | None:
        """What we put there must still stand there, or else the container's original."""
        current = file.sha256 if file.kind is FileKind.FILE else None
        if file.kind in (FileKind.FILE, FileKind.MISSING) and current in (
            placement.installed_sha256,
            placement.original_sha256,
        ):
            return None
        message = (
            f"{placement.destination} was changed in the target after the last push: original sha256 "
            f"{placement.original_sha256}, put there {placement.installed_sha256}, "
            f"found {current or file.kind.value}"
        )
        return Problem("original-differs", message, self.way_back(placement, file), placement.source)
