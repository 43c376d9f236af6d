"""A disk that becomes full in the middle of a push: one run for each page, or inode, that there is room for.

In a container the install root is a layer that cannot be written to, and above it lies one that can; so it is
here too, where the upper one is small. Mounting needs root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from overlaysync.errors import OverlaysyncError
from tests.faults.stage import Outcome, Stage, WrongOutcomeError

PAGE = 4096
RUNS = 24  # of a sweep through much content
MOST = 200  # of any sweep


@dataclass(frozen=True)
class SmallDisk:
    """A tmpfs that holds the world of a stage, or the upper layer of it (``layered``)."""

    stage: Stage
    layered: bool
    inodes: bool

    def sweep(self) -> Iterator[tuple[str, Outcome | Exception]]:
        """Each room with what came of it, or what was wrong, up to the first that suffices."""
        pages = sum(len(edit.content or b"") // PAGE for edit in self.stage.edits)
        step = 1 if self.inodes else max(1, pages // RUNS)
        for room in range(0, MOST * step, step):
            label = f"room for {room} {'inodes' if self.inodes else 'pages'}"
            try:
                outcome = self.run(room)
            except (WrongOutcomeError, OverlaysyncError) as error:
                yield label, error
                continue
            yield label, outcome
            if outcome.is_new:
                return
        yield "the sweep", WrongOutcomeError("no room suffices")

    def run(self, room: int) -> Outcome:
        """A push with so much room; the disk is full until the next contact has recovered."""
        with self._mounted():
            self._limit(room)
            site, told = self.stage.site(self.stage.account), None
            with self.stage.server.session() as session:
                try:
                    self.stage.work(site, session)
                except OverlaysyncError as error:
                    told = self.stage.roll_back(session, error)
            return self.stage.judge(site, told, repair=lambda: self._limit(None))

    @property
    def _disk(self) -> str:
        return str(self.stage.directory / "disk" if self.layered else self.stage.world)

    @contextmanager
    def _mounted(self) -> Iterator[None]:
        world = self.stage.world
        shutil.rmtree(world)
        world.mkdir()
        os.makedirs(self._disk, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", self._disk], check=True)
        Path(self._disk, "filler").write_bytes(bytes(PAGE))  # a limit of nothing would be none
        try:
            if self.layered:
                self._mount_layers()
            else:
                os.unlink(f"{self._disk}/filler")
                subprocess.run(["cp", "-a", f"{self.stage.base}/.", world], check=True)
            yield
        finally:
            for place in {str(world), self._disk}:
                subprocess.run(["umount", "--lazy", place], check=False, capture_output=True)

    def _mount_layers(self) -> None:
        upper, work = f"{self._disk}/upper", f"{self._disk}/work"
        os.mkdir(upper)
        os.mkdir(work)
        layers = f"lowerdir={self.stage.base},upperdir={upper},workdir={work}"
        subprocess.run(["mount", "-t", "overlay", "-o", layers, "overlay", self.stage.world], check=True)

    def _limit(self, room: int | None) -> None:
        """None: no limit."""
        used = os.statvfs(self._disk)
        if self.inodes:
            limit = f"nr_inodes={0 if room is None else used.f_files - used.f_ffree + room}"
        else:
            limit = f"size={0 if room is None else (used.f_blocks - used.f_bfree + room) * PAGE}"
        subprocess.run(["mount", "-o", f"remount,{limit}", self._disk], check=True)
