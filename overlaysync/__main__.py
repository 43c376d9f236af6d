"""``overlaysync``, and ``python -m overlaysync``."""

from __future__ import annotations

import signal


def main() -> None:
    """Runs a command. Ctrl-C just ends the process as long as nothing of it is loaded."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else whoever started it ignores it
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from overlaysync.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
