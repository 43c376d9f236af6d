"""From a save to its proof in the container, over many saves: ``python -m benchmarks.watch_latency [SAVES]``.

The floor is measured between the saves: one file event noticed, and one round trip on an open agent. Both are
of the same machine at the same time, so that their ratio is what tells. An engine is needed; the container is
made from this machine's own Python and removed at the end.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from overlaysync.remote.connecting import connect
from overlaysync.targets.docker import DockerTransport
from overlaysync.watching.files import FileEvents
from tests.e2e.scenario import Scenario, Stage
from tests.e2e.watcher import watching
from tests.parts.command_line import CommandLine
from tests.parts.containers import ContainerFactory, sweep
from tests.parts.engine import find_engine
from tests.parts.images import ImageFactory

SETTLE_MS = 20.0


def main(saves: int) -> None:
    engine, session = find_engine(), uuid.uuid4().hex
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        stage = Stage(
            ImageFactory(engine, session), ContainerFactory(engine, session), CommandLine(place), place, {}
        )
        try:
            latencies, floors = measure(stage.set(), place, saves)
        finally:
            sweep(engine, session)
    print(f"{saves} saves of one file, settle time {SETTLE_MS:.0f} ms; milliseconds\n")
    print(f"{'':24}{'p50':>8}{'p99':>8}")
    for name, values in (("save → proven", latencies), ("event + one round trip", floors)):
        print(f"{name:24}{at(values, 50):8.1f}{at(values, 99):8.1f}")
    ratio = at(latencies, 50) / at(floors, 50)
    print(f"\nratio of the medians: {ratio:.1f}")


def measure(scenario: Scenario, place: Path, saves: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each save, and of the floor beside it."""
    latencies, floors = [], []
    noticed = threading.Event()
    (place / "floor").mkdir()
    events = FileEvents(place / "floor", place / "floor" / ".git", noticed.set)
    assert events.polling is None
    with (
        watching(scenario, "--quiet-ms", str(SETTLE_MS)) as watcher,
        connect(DockerTransport(scenario.container.name)) as agent,
    ):
        watcher.until("unchanged")
        for number in range(2, saves + 2):
            scenario.edit_generation(number)
            latencies.append(watcher.until("applied")["latency_ms"])
            noticed.clear()
            began = time.perf_counter()
            (place / "floor" / "file").write_text(str(number))
            noticed.wait(5)
            agent.read("/etc/hostname")
            floors.append((time.perf_counter() - began) * 1000)
    events.close()
    return latencies, floors


def at(values: Sequence[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
