"""What people would use instead, each on the change that our push had just before, in the same round.

None of them asks what the target's Python imports. Each has its own copy of the package in the container.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from functools import partial

from benchmarks.many import MANY, SIZE
from benchmarks.measuring import run
from benchmarks.rows import Contender, Row, compare_all
from benchmarks.stage import Bench

PLACE = "/peers"
BLIND_SECONDS = 2.1
"""Unison and rsync see no change of the same size as soon after the last one (1.1 seconds are too few)."""

Copy = Callable[[Bench, str, list[str]], float]
"""Seconds that it takes to bring these files of the package into a directory of the container."""

Change = Callable[[Bench], list[str]]
"""Makes a change; the files of the package that it is in."""


def docker_cp(bench: Bench, place: str, names: list[str]) -> float:
    """The file, or the whole package where there are more: it takes one source at a time."""
    there = f"{bench.container.name}:{place}"
    if len(names) == 1:
        return run(["docker", "cp", f"{bench.package}/{names[0]}", f"{there}/{names[0]}"])
    return run(["docker", "cp", f"{bench.package}/.", there])


def tar_over_exec(bench: Bench, place: str, names: list[str]) -> float:
    return bench.tar(names, place)


def rsync(bench: Bench, place: str, _: list[str]) -> float:
    """``--rsh``: docker itself, which takes the container's name for the host."""
    there = f"{bench.container.name}:{place}/"
    return run(["rsync", "--archive", "--rsh=docker exec -i", f"{bench.package}/", there])


def unison(bench: Bench, place: str, _: list[str]) -> float:
    """It calls its ssh as ``HOST -e none unison -server``. One way only: the worktree is right."""
    shell = bench.state / "docker-exec"
    if not shell.exists():
        shell.write_text('#!/bin/sh\nname=$1\nshift 3\nexec docker exec -i "$name" "$@"\n')
        shell.chmod(0o755)
    here, there = str(bench.package), f"ssh://{bench.container.name}/{place}"
    command = ["unison", here, there, "-batch", "-times", "-sshcmd", str(shell), "-force", here]
    return run(command, more={"UNISON": str(bench.state / "unison")})


PEERS: dict[tuple[str, str], Copy] = {
    ("docker cp", "verifies nothing"): docker_cp,
    ("tar over exec", "verifies nothing"): tar_over_exec,
    ("rsync", "verifies its transfer"): rsync,
    ("unison", "verifies its transfer"): unison,
}
"""By the program, and by what it verifies."""


def push_one_beside_peers(bench: Bench, rounds: int) -> list[Row]:
    def change(bench: Bench) -> list[str]:
        bench.edit()
        return ["engine.py"]

    return _beside_peers("push, one file", bench, change, rounds)


def push_many_beside_peers(bench: Bench, rounds: int) -> list[Row]:
    names = bench.modules(MANY)

    def change(bench: Bench) -> list[str]:
        bench.edit_many(names, SIZE)
        return names

    rows = _beside_peers(f"push, {MANY:,} files, overlay", bench, change, rounds)
    bench.restore()
    return rows


def _beside_peers(what: str, bench: Bench, change: Change, rounds: int) -> list[Row]:
    changed: list[str] = []

    def ours() -> float:
        time.sleep(BLIND_SECONDS)
        changed[:] = change(bench)
        return bench.tool("push")

    contenders: dict[str, Contender | None] = {}
    for (name, verified), copy in PEERS.items():
        program, place = name.partition(" ")[0], f"{PLACE}/{name.replace(' ', '-')}"
        contenders[f"{name}: {verified}"] = None
        if shutil.which(program) is not None:
            prepare(bench, program, place)
            contenders[f"{name}: {verified}"] = partial(_copied, bench, place, copy, changed)
    return compare_all(what, ours, contenders, None, rounds)


def prepare(bench: Bench, program: str, place: str) -> None:
    """The program, where it needs itself on the other side, and a copy of the package with its times."""
    if program in ("rsync", "unison"):
        bench.install(program)
    bench.container.exec("mkdir", "-p", place, check=True)
    bench.tar(["."], place)


def _copied(bench: Bench, place: str, copy: Copy, names: list[str]) -> float:
    """RuntimeError where the last of the files is not there afterwards."""
    seconds = copy(bench, place, names)
    there = bench.container.exec("cat", f"{place}/{names[-1]}", check=True).stdout
    if there != (bench.package / names[-1]).read_text():
        raise RuntimeError(f"{names[-1]} did not arrive in {place}")
    return seconds
