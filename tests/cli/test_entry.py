"""The first instants of a command, before anything of it is loaded."""

from __future__ import annotations

import signal
import subprocess
import sys

INTERRUPTED_AT = """
import os, signal, sys
from overlaysync.__main__ import main
class Finder:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv = ["overlaysync", "manifest", "list"]
{before}
main()
"""


def interrupted_at(module: str, before: str = "") -> subprocess.CompletedProcess[bytes]:
    """A command that gets Ctrl-C when it begins to load a module."""
    code = INTERRUPTED_AT.format(module=module, before=before)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)


def test_ctrl_c_while_it_is_loaded_ends_it_and_no_more() -> None:
    done = interrupted_at("click")
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


def test_later_it_is_told() -> None:
    done = interrupted_at("overlaysync.app.manifests")
    assert done.returncode == 130
    assert b"interrupted" in done.stderr
    assert b"Traceback" not in done.stderr


def test_who_started_it_may_have_it_ignored() -> None:
    done = interrupted_at("click", "signal.signal(signal.SIGINT, signal.SIG_IGN)")
    assert (done.returncode, done.stderr) == (0, b"")
