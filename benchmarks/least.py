"""What remains of a push of one file when the tool is taken away: processes that any such tool starts.

It is no floor that could be reached: it hashes nothing, takes no inventory, writes nothing and decides
nothing; it only starts what the proofs need, as much of it as possible at once.
"""

from __future__ import annotations

import sys

from benchmarks.measuring import run
from benchmarks.rows import Row, compare
from benchmarks.stage import Bench

FAR_SIDE = """
import os, sys
question = "import importlib.util; print(importlib.util.find_spec('sample_pkg.engine'))"
command = [sys.executable, "-B", "-c", question]
sys.exit(os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn(command[0], command, os.environ), 0)[1]))
"""
"""The isolated Python that looks and writes, and the workload's own, which says what it would import."""

HOST = """
import subprocess, sys
repository, container, far_side = sys.argv[1:]
there = ["docker", "exec", "-i", container, "python3", "-E", "-s", "-S", "-B", "-c", far_side]
target = subprocess.Popen(there, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
status = ["git", "-C", repository, "--no-optional-locks", "status", "--porcelain", "-z"]
git = subprocess.Popen(status, stdout=subprocess.DEVNULL)
import click, msgspec, xxhash
sys.exit(git.wait() or target.wait())
"""
"""The engine and git first, then the libraries that the tool is built on."""


def least(bench: Bench, rounds: int) -> list[Row]:
    """For information: how much of F is left for everything else."""
    command = [sys.executable, "-c", HOST, str(bench.project.path), bench.container.name, FAR_SIDE]
    return compare("only what is started", lambda: run(command), "F", bench.floor, None, rounds)
