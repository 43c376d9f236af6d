"""Files that were hashed before, and what the agent is asked of them."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from overlaysync.agent.install_root import WORTH_A_CORE
from overlaysync.app.installed_cache import InstalledCache
from overlaysync.model.target import (
    FileKind,
    InstalledDirectory,
    InstalledFile,
    InstalledPath,
    Inventory,
    TargetIdentity,
)
from overlaysync.remote.session import AgentSession
from overlaysync.worktree.cache import SETTLED_NS
from tests.agent.vocabulary import METADATA, NAME, Site

IDENTITY = TargetIdentity("local", "dev")


def test_many_files_are_looked_at_as_one_is(session: AgentSession, site: Site) -> None:
    paths = [InstalledPath(f"sample/part_{number}.py") for number in range(4 * WORTH_A_CORE)]
    for path in paths:
        site.write(path, f"# {path}\n")
    linked, absent = paths[1], paths[-2]
    for path in (linked, absent):
        (site.root / path).unlink()
    (site.root / linked).symlink_to(site.root / paths[0])
    session.open(str(site.root), METADATA, NAME, "sha1")
    found = session.look(paths, object_format="sha1")
    assert list(found) == paths
    kinds = {linked: FileKind.LINK, absent: FileKind.MISSING}
    assert {path: file.kind for path, file in found.items()} == {
        path: kinds.get(path, FileKind.FILE) for path in paths
    }
    for path in (paths[0], paths[-1]):
        assert found[path].sha256 == hashlib.sha256(f"# {path}\n".encode()).hexdigest()


def test_only_what_was_touched_is_hashed_again(session: AgentSession, site: Site, tmp_path: Path) -> None:
    """Whatever its size and its time of modification say."""
    told: list[str] = []
    hashed: list[str] = []

    class Counting(InstalledCache):
        def complete(
            self, listing: Sequence[InstalledDirectory], inventory: Inventory
        ) -> list[InstalledFile]:
            told.extend(item.path for item in listing if item.files is not None)
            return super().complete(listing, inventory)

        def remember(self, files: Iterable[InstalledFile], began: int) -> None:
            found = list(files)
            hashed.extend(file.path for file in found)
            super().remember(found, began)

    def digests() -> Sequence[tuple[str, str | None]]:
        known = Counting(tmp_path / "cache", IDENTITY, str(site.root), "sha1")
        inventory = session.open(str(site.root), METADATA, NAME, "sha1", known)
        known.keep()
        known.save()
        return [(file.path, file.sha256) for file in inventory.files]

    time.sleep(SETTLED_NS / 1e9 + 0.1)  # the time of status change cannot be set
    first = digests()
    assert len(hashed) == len(first) > 2
    assert len(told) > 1
    hashed.clear()
    told.clear()
    assert (digests(), hashed, told) == (first, [], [])

    name = next(path for path, _ in first if path.endswith(".py") and (site.root / path).stat().st_size)
    place = site.root / name
    before, content = place.stat(), place.read_bytes()
    place.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert place.stat().st_size == before.st_size
    changed = digests()
    assert (hashed, [path for path, _ in changed]) == ([name], [path for path, _ in first])
    assert told == [name.rpartition("/")[0]]
    assert [path for path, _ in set(changed) - set(first)] == [name]
