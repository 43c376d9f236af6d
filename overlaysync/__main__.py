"""``overlaysync``, and ``python -m overlaysync``."""

from __future__ import annotations

import os
import signal
import sys

from overlaysync.cli.collecting import collect_seldom

SWITCH_SECONDS = 0.0005
"""After which a thread may go on that got its answer. At Python's usual 5 ms, each of some twenty answers of
git comes as much too late while another thread loads modules."""


def main() -> None:
    """Runs a command. Ctrl-C just ends the process as long as nothing of it is loaded."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else whoever started it ignores it
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    collect_seldom()
    sys.setswitchinterval(SWITCH_SECONDS)
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
