"""Interleaved measurements: every round runs each contender once, so that what disturbs one disturbs all."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""With bytecode: without it every start compiles the whole tool again, which no installed one does."""


def run(
    command: Sequence[str],
    *,
    source: Sequence[str] = (),
    fine: Sequence[int] = (0,),
    more: Mapping[str, str] | None = None,
) -> float:
    """Seconds that a command takes to its end. RuntimeError where its exit code is none of ``fine``.

    ``source``: a command whose output it reads; it counts in the seconds, as part of a pipe. ``more``:
    variables of its environment.
    """
    began = time.perf_counter()
    feeder = subprocess.Popen(source, env=ENVIRONMENT, stdout=subprocess.PIPE) if source else None
    process = subprocess.Popen(
        command,
        env={**ENVIRONMENT, **(more or {})},
        stdin=subprocess.DEVNULL if feeder is None else feeder.stdout,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    if feeder is not None and feeder.stdout is not None:
        feeder.stdout.close()
    _, complaint = process.communicate()
    seconds = time.perf_counter() - began
    if feeder is not None and feeder.wait() != 0:
        raise RuntimeError(f"{' '.join(source[:4])} ... exited {feeder.returncode}")
    if process.returncode not in fine:
        raise RuntimeError(f"{' '.join(command)} exited {process.returncode}: {complaint[-2000:]!r}")
    return seconds


def interleaved(contenders: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each contender in each round, after one round that does not count."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, contender in contenders.items():
            seconds = contender()
            if number:
                taken[name].append(seconds)
    return taken


def median(values: Sequence[float]) -> float:
    return statistics.median(values)
