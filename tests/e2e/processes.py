"""Processes in a container that run beside overlaysync."""

from __future__ import annotations

import time

from tests.parts.containers import Container

SERVE = "import sample_pkg.ops, time; open('/tmp/ready', 'w'); time.sleep(600)"


def start(container: Container, *argv: str, user: str | None = None) -> None:
    """Starts a process in the background, and waits for the file with which it says that it is up."""
    options = ["--detach"] + ([] if user is None else ["--user", user])
    container.engine.run("exec", *options, container.name, *argv)
    wait_for(container, "/tmp/ready")


def wait_for(container: Container, path: str) -> None:
    deadline = time.monotonic() + 30
    while container.exec("stat", path).returncode != 0:
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.05)


def pid_of(container: Container, words: str) -> str:
    """The one process whose command line or name holds ``words``."""
    code = (
        "import os, sys\n"
        "for pid in filter(str.isdigit, os.listdir('/proc')):\n"
        "    command = open(f'/proc/{pid}/cmdline', errors='replace').read().replace(chr(0), ' ')\n"
        "    if sys.argv[1] in command and int(pid) not in (os.getpid(), 1): print(pid)\n"
    )
    return container.exec("python3", "-I", "-c", code, words, check=True).stdout.strip()
