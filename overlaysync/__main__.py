"""``overlaysync``, and ``python -m overlaysync``."""

from __future__ import annotations

import gc
import os
import signal
import sys

COLLECTING = (100_000, 20, 100)
"""Almost nothing of what a command makes goes before it ends: looking for that at the usual pace took a
fourteenth of a push. Commands that go on for long set it back."""


def main() -> None:
    """Runs a command. Ctrl-C just ends the process as long as nothing of it is loaded."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else whoever started it ignores it
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.set_threshold(*COLLECTING)
    from overlaysync.app.early import begin

    early = begin(sys.argv[1:])
    try:
        from overlaysync.cli.main import main as run

        code = run(early)
    finally:
        early.begun.end()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(code)  # Python tells what could not be written
    os._exit(code)  # taking every module apart takes a while


if __name__ == "__main__":
    main()
