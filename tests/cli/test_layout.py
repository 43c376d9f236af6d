"""What a terminal of 80 columns shows, asked of a real one."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

LONG = "refused: csrc/kernels.c: native source modified; the image's extension was built from HEAD's"


def _shown(script: str) -> list[str]:
    """The lines that a script writes to a terminal, without colour and cursor movements."""
    reading, writing = pty.openpty()
    fcntl.ioctl(writing, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    environment["TERM"] = "xterm-256color"
    command = [sys.executable, "-c", f"from overlaysync.cli.terminal import Terminal\n{script}"]
    with subprocess.Popen(command, stdout=writing, env=environment):
        os.close(writing)
        written = b""
        while True:
            try:
                piece = os.read(reading, 65536)
            except OSError:  # how Linux says that the other side was closed
                break
            if not piece:
                break
            written += piece
    os.close(reading)
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", written.decode()).replace("\r", "").splitlines()


def test_a_long_text_on_the_board_gives_way_and_its_name_does_not() -> None:
    shown = _shown(
        "board = Terminal().board()\nboard.start()\n"
        f'board.show([("watching", "here"), ("pending", {LONG!r})])\nboard.stop()'
    )
    assert "watching  here" in [line.rstrip() for line in shown]
    pending = shown[-1]  # painted again at the end
    assert pending.startswith("pending   refused: csrc/kernels.c")
    assert pending.endswith("…")
    assert len(pending) <= 80


def test_what_is_folded_goes_on_below_itself() -> None:
    shown = _shown(f'Terminal().line("baseline  " + {LONG!r}, hang=10)')
    assert shown == [
        "baseline  refused: csrc/kernels.c: native source modified; the image's extension",
        "          was built from HEAD's",
    ]


def test_the_last_column_is_folded_below_itself() -> None:
    row = ("remove", "python", "package/of/some/depth.py", "back to the container's original and more")
    assert _shown(f"Terminal().rows([{row!r}])") == [
        "  remove  python  package/of/some/depth.py  back to the container's original and",
        " " * 44 + "more",
    ]


def test_colour_takes_no_room() -> None:
    text = "x" * 70 + " 12345678"
    assert _shown(f"t = Terminal()\nt.line(t.styled('✓', 'good')[:0] + {text!r})") == [text]
    assert _shown(f"t = Terminal()\nt.line(t.styled('!', 'good') + {text[1:]!r})") == ["!" + text[1:]]


def test_a_path_that_fits_the_screen_is_not_cut() -> None:
    path = "/" + "p" * 75
    assert _shown(f"Terminal().line('in        ' + {path!r}, hang=10)") == ["in", f"    {path}"]


LISTED = """
from overlaysync.cli.manifest_listing import show
record = {"name": "3f9c2a", "time": "2026-11-29T16:15:00+00:00", "command": "push"}
record |= {"overlay": 1, "target": "docker:dev", "distribution": "sample 1.0", "ported": False}
record |= {"root": "/home/dev/sample", "branch": BRANCH}
show([record], Terminal())
"""


def test_a_record_has_two_lines_where_one_is_too_narrow() -> None:
    [line] = _shown(LISTED.replace("BRANCH", "'main'"))
    assert line.endswith("  push  1 file  docker:dev  sample 1.0  sample (main)")
    first, second = _shown(LISTED.replace("BRANCH", "'the-name-of-a-long-branch'"))
    assert first.startswith("3f9c2a  2026-11-") and first.endswith("  push  1 file")
    assert second == "        docker:dev · sample 1.0 · sample (the-name-of-a-long-branch)"
