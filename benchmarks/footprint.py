"""What is taken besides time: memory of both ends during a push, and CPU of a ``watch`` without work."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from benchmarks import processes
from benchmarks.measuring import ENVIRONMENT
from benchmarks.rows import Row
from benchmarks.stage import Bench
from tests.e2e.watcher import watching

HOST_MB, AGENT_MB, IDLE_PERCENT = 90.0, 40.0, 0.5
EVERY_SECONDS = 0.05
REST_SECONDS = 5.0
"""After which what a start has left to do is done."""


class Peaks:
    """The largest resident sets of our command and of its agent, while it is entered; in bytes.

    What they start (git, docker, the interpreters that are asked) does not count. The kernel keeps the peak
    of each process, so that only what grows in its last moments can be missed. ``getrusage`` would tell this
    process's own peak where it is the larger: a child that is about to start a program shares its memory.
    """

    def __init__(self, bench: Bench) -> None:
        self._container = bench.container
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.host = self.agent = 0

    def __enter__(self) -> Peaks:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        space = processes.space_of(self._container)
        while not self._ended.wait(EVERY_SECONDS):
            ours = [pid for pid in processes.children(os.getpid()) if processes.is_tool(pid)]
            self.host = max([self.host, *map(processes.peak, ours)])
            self.agent = max([self.agent, *map(processes.peak, processes.agents(space))])


def memory_of_push(count: int, size: int) -> Callable[[Bench, int], list[Row]]:
    """One push, whatever the rounds: a peak does not depend on what else the machine does."""
    files = f"{count:,} files of {size // 1000:,} KB"

    def measure(bench: Bench, _: int) -> list[Row]:
        bench.edit_many(bench.modules(count), size)
        with Peaks(bench) as peaks:
            bench.tool("push")
        if not peaks.host or not peaks.agent:
            raise RuntimeError("our processes were not seen")
        bench.restore()
        return [
            Row(f"host, {files}", "peak memory wanted", peaks.host / 1e6, HOST_MB, 1.0, "MB"),
            Row(f"agent, {files}", "peak memory wanted", peaks.agent / 1e6, AGENT_MB, 1.0, "MB"),
        ]

    return measure


def idle_watch(bench: Bench, _: int) -> list[Row]:
    """Percent of a core: our process with all that it has started, and the agent.

    ``watch`` takes a look each three minutes in case that an event was lost: less is no measurement.
    """
    bench.tool("push")
    space = processes.space_of(bench.container)
    with watching(bench.scenario(), environment=ENVIRONMENT) as watcher:

        def used() -> tuple[float, float]:
            host, agent = processes.family(watcher.process.pid), processes.agents(space)
            if not agent:
                raise RuntimeError("no agent is at work")
            return processes.seconds(host), processes.seconds(agent)

        watcher.until("unchanged")
        time.sleep(REST_SECONDS)
        before, began = used(), time.perf_counter()
        time.sleep(bench.idle_seconds)
        after, took = used(), time.perf_counter() - began
    shares = [(late - early) / took * 100 for early, late in zip(before, after, strict=True)]
    return [
        Row("watch, idle, both ends", "CPU wanted", sum(shares), IDLE_PERCENT, 1.0, "%"),
        Row("watch, idle, host", "CPU wanted of both", shares[0], IDLE_PERCENT, None, "%"),
        Row("watch, idle, agent", "CPU wanted of both", shares[1], IDLE_PERCENT, None, "%"),
    ]
