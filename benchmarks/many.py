"""Many files at once, beside tar over ``docker exec`` of the same files."""

from __future__ import annotations

import hashlib

from benchmarks.measuring import ENVIRONMENT
from benchmarks.rows import Row, compare
from benchmarks.stage import Bench
from tests.e2e.watcher import Watcher, watching

MANY, SAVED, SIZE = 2000, 500, 20_000
SETTLE_MS = 20.0
PATIENCE = 120.0
AGAINST = "tar over exec"


def push_many(bench: Bench, rounds: int) -> list[Row]:
    """Into the container's own file system, for information: what its disk does is most of it."""
    return _push_many(bench, "overlay", None, rounds)


def push_many_on_tmpfs(bench: Bench, rounds: int) -> list[Row]:
    with bench.on_tmpfs() as there:
        return _push_many(there, "tmpfs", 1.5, rounds)


def _push_many(bench: Bench, file_system: str, limit: float | None, rounds: int) -> list[Row]:
    names = bench.modules(MANY)

    def ours() -> float:
        bench.edit_many(names, SIZE)
        return bench.tool("push")

    def floor() -> float:
        return bench.tar(names, "/tmp")

    rows = compare(f"push, {MANY:,} files, {file_system}", ours, AGAINST, floor, limit, rounds)
    bench.restore()
    return rows


def watch_many(bench: Bench, rounds: int) -> list[Row]:
    """From the first save to the proof of the last, without the settle time."""
    names = bench.modules(SAVED)
    with bench.on_tmpfs() as there:
        there.tool("push")
        with watching(there.scenario(), "--quiet-ms", str(SETTLE_MS), environment=ENVIRONMENT) as watcher:
            watcher.until("unchanged", PATIENCE)
            rows = compare(
                f"watch, {SAVED} files at once, tmpfs",
                lambda: _save_at_once(there, watcher, names),
                AGAINST,
                lambda: there.tar(names, "/tmp"),
                2.0,
                rounds,
            )
        there.restore()
    return rows


def _save_at_once(bench: Bench, watcher: Watcher, names: list[str]) -> float:
    """Renames finished files into the worktree, as editors do; RuntimeError where only a part is pushed."""
    text = bench.text_for(SIZE)
    ready = [bench.state / f"saved_{number}" for number in range(len(names))]
    for path in ready:
        path.write_text(text)
    for path, name in zip(ready, names, strict=True):
        path.replace(bench.package / name)
    applied = watcher.until("applied", PATIENCE)
    digest = hashlib.sha256(text.encode()).hexdigest()
    operations = applied["result"]["operations"]
    arrived = sum(operation["installed_sha256"] == digest for operation in operations)
    if arrived != len(names):
        raise RuntimeError(f"{arrived} of {len(names)} files were pushed: not saved at once")
    return float(applied["latency_ms"] - SETTLE_MS) / 1000
