"""From a save to the file in the container: ``watch``, which proves it, beside lsyncd, which does not."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.many import SETTLE_MS
from benchmarks.measuring import ENVIRONMENT
from benchmarks.peers import BLIND_SECONDS, PLACE, prepare
from benchmarks.rows import Contender, Row, compare_all
from benchmarks.stage import Bench
from tests.e2e.watcher import watching

FILE = "engine.py"

CONFIGURATION = """\
settings {{ nodaemon = true }}
sync {{
    default.rsync, source = "{source}", target = "{target}", delay = {delay},
    rsync = {{ archive = true, rsh = "docker exec -i" }},
}}
"""

WAIT = """
import sys, time
path, text = sys.argv[1:]
print("waiting", flush=True)
end = time.monotonic() + 60
while time.monotonic() < end:
    try:
        with open(path) as stream:
            if text in stream.read():
                print("there", flush=True)
                break
    except OSError:
        pass
    time.sleep(0.001)
"""


def watch_one(bench: Bench, rounds: int) -> list[Row]:
    """Settle time included, the same for both; each has files of its own, so that it works alone."""

    def ours() -> float:
        bench.edit()
        return float(watcher.until("applied")["latency_ms"]) / 1000

    bench.tool("push")
    with (
        _lsyncd(bench) as lsyncd,
        watching(bench.scenario(), "--quiet-ms", str(SETTLE_MS), environment=ENVIRONMENT) as watcher,
    ):
        watcher.until("unchanged")
        return compare_all(
            "watch, one file, overlay", ours, {"lsyncd: verifies its transfer": lsyncd}, None, rounds
        )


@contextmanager
def _lsyncd(bench: Bench) -> Iterator[Contender | None]:
    """Follows a copy of the package; None where a program is missing."""
    if shutil.which("lsyncd") is None or shutil.which("rsync") is None:
        yield None
        return
    source, place = bench.state / "followed", f"{PLACE}/lsyncd"
    shutil.copytree(bench.package, source, dirs_exist_ok=True)
    prepare(bench, "rsync", place)
    configuration = bench.state / "lsyncd.lua"
    target = f"{bench.container.name}:{place}"
    configuration.write_text(CONFIGURATION.format(source=source, target=target, delay=SETTLE_MS / 1000))
    process = subprocess.Popen(
        ["lsyncd", str(configuration)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        yield lambda: _save(bench, process, source / FILE, f"{place}/{FILE}")
    finally:
        process.terminate()
        process.wait()


def _save(bench: Bench, follower: subprocess.Popen[bytes], path: Path, there: str) -> float:
    """Seconds until a process in the container, which looks all the time, has seen the file.

    RuntimeError where the follower has ended, or does not see it.
    """
    time.sleep(BLIND_SECONDS)
    text = bench.text_for(1000)
    line = text.partition("\n")[0]
    waiting = bench.exec("python3", "-I", "-S", "-u", "-c", WAIT, there, line)
    with subprocess.Popen(waiting, stdout=subprocess.PIPE, text=True) as wait:
        assert wait.stdout is not None
        wait.stdout.readline()
        if follower.poll() is not None:
            raise RuntimeError(f"it ended with {follower.returncode}")
        began = time.perf_counter()
        path.write_text(text)
        if wait.stdout.readline() != "there\n":
            raise RuntimeError(f"{path} did not arrive in {there}")
        return time.perf_counter() - began
