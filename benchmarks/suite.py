"""What is measured, each beside its floor or its peer."""

from __future__ import annotations

import io
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.measuring import interleaved, median, run
from benchmarks.stage import TOOL, Bench

MANY, MANY_SIZE = 2000, 20_000


@dataclass(frozen=True)
class Row:
    """Medians in milliseconds; ``limit``: the ratio that is wanted (None: for information)."""

    what: str
    against: str
    ours: float
    floor: float
    limit: float | None

    @property
    def ratio(self) -> float:
        return self.ours / self.floor


Measure = Callable[[Bench, int], Row]


def _compare(
    what: str,
    ours: Callable[[], float],
    against: str,
    floor: Callable[[], float],
    limit: float | None,
    rounds: int,
) -> Row:
    taken = interleaved({"ours": ours, "floor": floor}, rounds)
    return Row(what, against, median(taken["ours"]) * 1000, median(taken["floor"]) * 1000, limit)


def _start_up(option: str) -> Measure:
    """What a command costs that does nothing."""

    def measure(_: Bench, rounds: int) -> Row:
        return _compare(
            option,
            lambda: run([*TOOL, option]).seconds,
            "import click",
            lambda: run([sys.executable, "-c", "import click"]).seconds,
            1.5,
            rounds,
        )

    return measure


def push_one(bench: Bench, rounds: int) -> Row:
    def ours() -> float:
        bench.edit()
        return bench.tool("push")

    return _compare("push, one file", ours, "F", bench.floor, 1.5, rounds)


def push_nothing(bench: Bench, rounds: int) -> Row:
    bench.tool("push")
    return _compare("push, nothing changed", lambda: bench.tool("push"), "F", bench.floor, 1.5, rounds)


def status(bench: Bench, rounds: int) -> Row:
    return _compare("status", lambda: bench.tool("status"), "F", bench.floor, 1.5, rounds)


def verify_first(bench: Bench, rounds: int) -> Row:
    def ours() -> float:
        bench.forget()
        return bench.tool("verify")

    code = (
        "import glob, hashlib; [hashlib.sha256(open(p, 'rb').read()) for p in glob.glob(%r, recursive=True)]"
    )
    program = code % f"{bench.site}/sample_pkg/**/*.py"

    def floor() -> float:
        return run(bench.exec("python3", "-I", "-S", "-c", program)).seconds

    return _compare("verify, nothing cached", ours, "sha256 in the container", floor, 1.5, rounds)


def verify_again(bench: Bench, rounds: int) -> Row:
    return _compare("verify, unchanged", lambda: bench.tool("verify"), "F", bench.floor, 1.5, rounds)


def push_many(bench: Bench, rounds: int) -> Row:
    names = bench.modules(MANY)

    def ours() -> float:
        bench.edit_many(names, MANY_SIZE)
        return bench.tool("push")

    def floor() -> float:
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as members:
            for name in names:
                members.add(bench.project.path / bench.project.source(name), name)
        line = bench.exec("tar", "x", "-C", "/tmp")
        return run(line, given=archive.getvalue()).seconds

    row = _compare(f"push, {MANY:,} files", ours, "tar over exec", floor, 1.5, rounds)
    bench.project.git("checkout", "--quiet", "--", ".")
    bench.tool("push")
    return row


def copy_one(bench: Bench, rounds: int) -> Row:
    """What people would use instead; it verifies nothing."""
    path = str(bench.project.path / bench.project.source("engine.py"))
    line = ["docker", "cp", path, f"{bench.container.name}:/tmp/engine.py"]
    return _compare("docker cp, one file", lambda: run(line).seconds, "F", bench.floor, None, rounds)


SUITE: dict[str, Measure] = {
    "version": _start_up("--version"),
    "help": _start_up("--help"),
    "push-one": push_one,
    "push-nothing": push_nothing,
    "status": status,
    "verify-first": verify_first,
    "verify-again": verify_again,
    "push-many": push_many,
    "copy-one": copy_one,
}
