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


PACES = """
import gc
paces = [gc.get_threshold()]
from overlaysync.cli.collecting import collect_often, collect_seldom
for change in (collect_seldom, collect_often):
    change()
    paces.append(gc.get_threshold())
assert paces[0] == paces[2] != paces[1], paces
"""


def test_what_runs_for_weeks_collects_at_pythons_own_pace() -> None:
    """Which is another one in other versions of Python."""
    for before in ("", "import gc; gc.set_threshold(123, 4, 5)"):
        subprocess.run([sys.executable, "-c", before + PACES], check=True, timeout=60)
