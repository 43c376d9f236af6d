"""What is measured, each beside its floor or its peer."""

from __future__ import annotations

import sys
from collections.abc import Callable

from benchmarks.followers import watch_one
from benchmarks.footprint import idle_watch, memory_of_push
from benchmarks.least import least
from benchmarks.many import push_many, push_many_on_tmpfs, watch_many
from benchmarks.measuring import run
from benchmarks.peers import push_many_beside_peers, push_one_beside_peers
from benchmarks.rows import Row, compare
from benchmarks.stage import TOOL, Bench

FURTHER = 3
"""Targets beside the first one."""
Measure = Callable[[Bench, int], list[Row]]


def _start_up(option: str) -> Measure:
    """What a command costs that does nothing."""

    def measure(_: Bench, rounds: int) -> list[Row]:
        return compare(
            option,
            lambda: run([*TOOL, option]),
            "import click",
            lambda: run([sys.executable, "-c", "import click"]),
            1.5,
            rounds,
        )

    return measure


def push_one(bench: Bench, rounds: int) -> list[Row]:
    def ours() -> float:
        bench.edit()
        return bench.tool("push")

    return compare("push, one file", ours, "F", bench.floor, 1.5, rounds)


def push_nothing(bench: Bench, rounds: int) -> list[Row]:
    bench.tool("push")
    return compare("push, nothing changed", lambda: bench.tool("push"), "F", bench.floor, 1.5, rounds)


def further_target(bench: Bench, rounds: int) -> list[Row]:
    """What each container more adds to a push of one file."""
    others = [bench.containers.run(bench.image) for _ in range(FURTHER)]
    further = [f"--container={container.name}" for container in others]

    def ours() -> float:
        bench.edit()
        alone = bench.tool("push")
        bench.edit()
        return (bench.tool("push", *further) - alone) / FURTHER

    def floor() -> float:
        return run(bench.exec("python3", "-I", "-S", "-c", "pass"))

    try:
        bench.tool("push", *further)
        return compare("push, each further target", ours, "docker exec of Python", floor, 1.3, rounds)
    finally:
        for container in others:
            container.remove()


def status(bench: Bench, rounds: int) -> list[Row]:
    return compare("status", lambda: bench.tool("status"), "F", bench.floor, 1.5, rounds)


def verify_first(bench: Bench, rounds: int) -> list[Row]:
    def ours() -> float:
        bench.forget()
        return bench.tool("verify")

    code = (
        "import glob, hashlib; [hashlib.sha256(open(p, 'rb').read()) for p in glob.glob(%r, recursive=True)]"
    )
    program = code % f"{bench.site}/sample_pkg/**/*.py"

    def floor() -> float:
        return run(bench.exec("python3", "-I", "-S", "-c", program))

    return compare("verify, nothing cached", ours, "sha256 in the container", floor, 1.5, rounds)


def verify_again(bench: Bench, rounds: int) -> list[Row]:
    return compare("verify, unchanged", lambda: bench.tool("verify"), "F", bench.floor, 1.5, rounds)


SUITE: dict[str, Measure] = {
    "version": _start_up("--version"),
    "help": _start_up("--help"),
    "push-one": push_one,
    "push-nothing": push_nothing,
    "least": least,
    "further-target": further_target,
    "status": status,
    "verify-first": verify_first,
    "verify-again": verify_again,
    "push-many": push_many,
    "push-many-tmpfs": push_many_on_tmpfs,
    "watch-many": watch_many,
    "memory-many": memory_of_push(2000, 20_000),
    "memory-large": memory_of_push(200, 10_000_000),
    "idle-watch": idle_watch,
    "peers-one": push_one_beside_peers,
    "peers-many": push_many_beside_peers,
    "peers-watch": watch_one,
}
