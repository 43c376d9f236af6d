"""The daemon itself, and the commands that begin, ask and end it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from overlaysync import __version__
from overlaysync.app.daemon import places
from overlaysync.app.daemon.control import Server, ask
from overlaysync.app.daemon.pair import Pair
from overlaysync.config.daemon import PairConfiguration, load_daemon
from overlaysync.core.counting import counted
from overlaysync.errors import LockedError, UsageError
from overlaysync.model.result import Outcome, Result

LOG_BYTES, LOG_FILES = 1 << 20, 3
START_SECONDS, STOP_SECONDS = 20.0, 60.0


def run(file: Path | None) -> Result:
    """Watches all pairs until it is told to stop, or interrupted.

    Raises ConfigError, UsageError; LockedError where a daemon runs already.
    """
    configuration = load_daemon(file or places.daemon_file())
    try:
        lock = FileLock(places.lock_path()).acquire(timeout=0)
    except Timeout as error:
        raise LockedError("a daemon runs already", "see it: overlaysync daemon status") from error
    with lock:
        log, stop = _log(), threading.Event()
        pairs = [Pair(item, lambda name, text: log.info("%s  %s", name, text)) for item in configuration.pair]

        def status() -> dict[str, Any]:
            states = [msgspec.to_builtins(pair.state) for pair in pairs]
            return {"pid": os.getpid(), "version": __version__, "pairs": states}

        def end() -> dict[str, Any]:
            stop.set()
            return {"pid": os.getpid()}

        server = Server(places.socket_path(), {"status": status, "stop": end})
        log.info("started: pid %d; pairs: %d", os.getpid(), len(pairs))
        try:
            for pair in pairs:
                pair.start()
            while not stop.wait(3600):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            server.close()
            _end(pairs, log)
    return _result("daemon run", "the daemon has ended")


def start(file: Path | None) -> Result:
    """Begins a daemon in the background, and waits until it answers. Raises what ``run`` raises first."""
    pairs = load_daemon(file or places.daemon_file()).pair
    if (running := ask(places.socket_path(), "status")) is not None:
        raise LockedError(
            f"a daemon runs already (pid {running['pid']})", "see it: overlaysync daemon status"
        )
    line = [sys.executable, "-m", "overlaysync", "daemon", "run"]
    line += ["--file", str(file.absolute())] if file is not None else []
    process = subprocess.Popen(
        line,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        if (answer := ask(places.socket_path(), "status")) is not None:
            sentence, notes = f"started: pid {answer['pid']}", _absent(pairs)
            return _result("daemon start", sentence, outcome="applied", notes=notes, **answer)
        time.sleep(0.05)
    process.kill()
    raise UsageError("the daemon did not start", "see why: overlaysync daemon run")


def _absent(pairs: Iterable[PairConfiguration]) -> list[str]:
    """What is misspelt, or on a disk that is mounted later: no reason for the others not to start."""
    return [
        f"the worktree {str(pair.directory)!r} is not there; it is waited for"
        for pair in pairs
        if not pair.directory.is_dir()
    ]


def stop() -> Result:
    """Ends the daemon, and waits until it is gone: what was under way is finished or rolled back."""
    answer, until = ask(places.socket_path(), "stop"), time.monotonic() + STOP_SECONDS
    # silence proves nothing: one that ends answers no more, and its pairs may still be at work
    while _runs(seconds=0.5):
        answer = ask(places.socket_path(), "stop") or answer
        if time.monotonic() > until:
            pid = answer["pid"] if answer is not None else None
            raise (
                _silent()
                if pid is None
                else UsageError(f"the daemon (pid {pid}) does not end", f"end it: kill {pid}")
            )
    if answer is None:
        return _result("daemon stop", "no daemon runs")
    return _result("daemon stop", f"stopped: pid {answer['pid']}", outcome="applied")


def status() -> Result:
    """What each pair does now; exit code 1 where no daemon runs. Raises UsageError where it is silent."""
    answer = ask(places.socket_path(), "status")
    if answer is None and _runs():
        raise _silent()
    if answer is None:
        return _result("daemon status", "no daemon runs; start it: overlaysync daemon start", exit_code=1)
    return _result("daemon status", f"pid {answer['pid']}, {counted(len(answer['pairs']), 'pair')}", **answer)


def logs(lines: int) -> Iterator[str]:
    """The last lines of the log. Raises UsageError where there is none."""
    try:
        text = places.log_path().read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError("there is no log yet", "start it: overlaysync daemon start") from error
    yield from text.splitlines()[-lines:]


def unit(file: Path | None) -> Result:
    """Writes a systemd user unit, and says how to enable it.

    Raises UsageError where it cannot be written, and where there is another, which a person may have edited.
    """
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    place = home / "systemd" / "user" / "overlaysync.service"
    words = [sys.executable, "-m", "overlaysync", "daemon", "run"]
    words += ["--file", str(file.absolute())] if file is not None else []
    text = UNIT.format(command=" ".join(map(_quoted, words)))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists() and place.read_text(encoding="utf-8", errors="replace") != text:
            raise UsageError(f"{place} is there already, with another content", "move it away first")
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{place} cannot be written: {error.strerror}", "make it writable") from error
    return _result(
        "daemon unit",
        f"wrote {place}; systemctl --user enable --now overlaysync",
        outcome="applied",
        unit=str(place),
    )


def _runs(seconds: float = 0) -> bool:
    """Whether a daemon holds the lock, and does so for some time."""
    try:
        with FileLock(places.lock_path()).acquire(timeout=seconds):
            return False
    except Timeout:
        return True


def _silent() -> UsageError:
    return UsageError(
        "a daemon runs, and does not answer: it begins, ends, or is frozen",
        "ask again in a moment, or end it by its process id: pgrep -fa 'overlaysync daemon run'",
    )


UNIT = """\
[Unit]
Description=overlaysync: worktrees and the containers that follow them

[Service]
ExecStart={command}
KillSignal=SIGINT
Restart=on-failure

[Install]
WantedBy=default.target
"""


def _quoted(word: str) -> str:
    """One word of a unit's command line, where blanks, backslashes, ``%`` and ``$`` mean something."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{text}"' if " " in text or text != word else text


def _log() -> logging.Logger:
    log = logging.getLogger("overlaysync.daemon")
    log.setLevel(logging.INFO)
    log.propagate = False
    handler = RotatingFileHandler(
        places.log_path(),
        maxBytes=LOG_BYTES,
        backupCount=LOG_FILES,
        encoding="utf-8",
        errors="backslashreplace",
    )
    handler.setFormatter(logging.Formatter("%(asctime)s  %(message)s"))
    log.addHandler(handler)
    return log


def _end(pairs: list[Pair], log: logging.Logger) -> None:
    """Each pair ends by itself; an agent that is left over ends with this process, and rolls back."""
    for pair in pairs:
        pair.stop()
    until = time.monotonic() + STOP_SECONDS / 2
    late = [pair.state.name for pair in pairs if not pair.join(max(0.0, until - time.monotonic()))]
    log.info("ended" + (f"; not in time: {', '.join(late)}" if late else ""))


def _result(
    command: str, sentence: str, *, exit_code: int = 0, outcome: Outcome = "unchanged", **details: Any
) -> Result:
    return Result(
        command=command,
        outcome=outcome,
        exit_code=exit_code,
        details={"sentence": sentence, **details},
    )
