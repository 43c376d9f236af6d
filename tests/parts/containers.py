"""Containers that live as long as one test, looked at from inside."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tests.parts.engine import Engine

SESSION_LABEL = "overlaysync.test.session"
"""On every container and every image that a test session made and has to remove."""


class Entry(NamedTuple):
    """One path as the container sees it; ``mtime_ns`` only where it was asked for."""

    mode: int
    uid: int
    gid: int
    content: str
    """SHA-256 of a file, ``-> target`` of a link, nothing for what holds no bytes."""
    mtime_ns: int | None


READ_TREE = r"""
import hashlib, json, os, stat, sys
root, entries = sys.argv[1], {}
device = os.lstat(root).st_dev
def look(path):
    status = os.lstat(path)
    content = ""
    if stat.S_ISLNK(status.st_mode):
        content = "-> " + os.readlink(path)
    elif stat.S_ISREG(status.st_mode):
        with open(path, "rb") as file:
            content = hashlib.sha256(file.read()).hexdigest()
    entries[os.path.relpath(path, root)] = (
        status.st_mode, status.st_uid, status.st_gid, content, status.st_mtime_ns)
look(root)
for directory, directories, files in os.walk(root):
    for name in directories + files:
        look(os.path.join(directory, name))
    directories[:] = [
        name for name in directories if os.lstat(os.path.join(directory, name)).st_dev == device]
print(json.dumps(entries))
"""

READ_STAMPS = r"""
import json, os, sys
root, stamps = sys.argv[1], {}
device = os.lstat(root).st_dev
for directory, directories, files in os.walk(root):
    for name in directories + files:
        path = os.path.join(directory, name)
        status = os.lstat(path)
        if status.st_dev == device:
            stamps[path] = [getattr(status, "st_" + field) for field in (
                "mode", "uid", "gid", "ino", "size", "mtime_ns", "ctime_ns")]
            if name in files:  # overlayfs counts those of a directory anew once it was read
                stamps[path].append(status.st_nlink)
    directories[:] = [name for name in directories if os.path.join(directory, name) in stamps]
print(json.dumps(stamps))
"""

WRITE_FILE = "import sys; open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())"


class Container:
    """A container by its name. Commands run in it with its own environment, as its own user.

    ``interpreter``: the Python that looks around in it, where that is not the first on its PATH.
    """

    def __init__(self, engine: Engine, name: str, interpreter: str = "python3") -> None:
        self.engine = engine
        self.name = name
        self.interpreter = interpreter

    def exec(
        self,
        *argv: str,
        user: str | None = None,
        input: str | None = None,
        environment: Mapping[str, str] | None = None,
        directory: str | None = None,
        check: bool = False,
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the container to its end; ``check`` raises RuntimeError on any exit code but 0."""
        options = [] if input is None else ["--interactive"]
        options += [] if user is None else ["--user", user]
        options += [] if directory is None else ["--workdir", directory]
        options += [f"--env={name}={value}" for name, value in (environment or {}).items()]
        given = None if input is None else input.encode(errors="surrogateescape")
        line = ("exec", *options, self.name, *argv)
        done = self.engine.run(*line, input=given, check=check, timeout=timeout)
        out, err = (stream.decode(errors="surrogateescape") for stream in (done.stdout, done.stderr))
        return subprocess.CompletedProcess(argv, done.returncode, out, err)

    def python(self, code: str, *, user: str | None = None) -> str:
        """What ``python -c code`` prints, stripped; RuntimeError where it fails."""
        return self.exec(self.interpreter, "-c", code, user=user, check=True).stdout.strip()

    def write(self, path: str, text: str, *, user: str | None = None) -> None:
        """Write a file in place, as somebody at work inside the container would."""
        self.exec(
            self.interpreter, "-I", "-S", "-B", "-c", WRITE_FILE, path, user=user, input=text, check=True
        )

    def tree(self, path: str, *, times: bool = False) -> dict[str, Entry]:
        """Every path at and below ``path``, read by the container's own Python as root.

        Keys are relative to ``path``, which itself is ``.``; equal trees are equal dictionaries. What is
        mounted below it (``/proc``, ``/sys``) is not entered.
        """
        reader = (self.interpreter, "-I", "-S", "-B", "-c", READ_TREE, path)
        entries = json.loads(self.exec(*reader, user="0", check=True).stdout)
        return {
            name: Entry(mode, uid, gid, content, time if times else None)
            for name, (mode, uid, gid, content, time) in entries.items()
        }

    def stamps(self, path: str = "/") -> dict[str, list[int]]:
        """What changes with any write: mode, owner, inode, size and times of every path below ``path``.

        Far cheaper than ``tree``, since nothing is read: a write, rename, link or change of mode shows in the
        time of the last status change, which no program can set.
        """
        reader = (self.interpreter, "-I", "-S", "-B", "-c", READ_STAMPS, path)
        stamps: dict[str, list[int]] = json.loads(self.exec(*reader, user="0", check=True).stdout)
        return stamps

    def inspect(self) -> dict[str, object]:
        """The engine's record of this container."""
        record: dict[str, object] = json.loads(self.engine.run("inspect", self.name).stdout)[0]
        return record

    def stop(self) -> None:
        """Stop it; the main process gets one second, since ``sleep`` as process 1 ignores SIGTERM."""
        self.engine.run("stop", "--time", "1", self.name)

    def start(self) -> None:
        self.engine.run("start", self.name)

    def pause(self) -> None:
        self.engine.run("pause", self.name)

    def unpause(self) -> None:
        self.engine.run("unpause", self.name)

    def kill(self) -> None:
        self.engine.run("kill", self.name)

    def remove(self) -> None:
        self.engine.run("rm", "--force", "--volumes", self.name)


class ContainerFactory:
    """Starts containers and removes them all at the end."""

    def __init__(self, engine: Engine, session: str) -> None:
        self.engine = engine
        self.session = session
        self.started: list[str] = []

    def run(
        self,
        image: str,
        *,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        user: str | None = None,
        mounts: Iterable[str] = (),
        read_only: bool = False,
        interpreter: str = "python3",
        arguments: Sequence[str] = (),
        command: Sequence[str] = (),
    ) -> Container:
        """Start a container in the background, without network, under a name that no other test has.

        Args:
            mounts: values of ``--volume``.
            interpreter: see ``Container``.
            arguments: further options of the engine's ``run``.
            command: in place of the image's own.
        """
        name = name or f"overlaysync-test-{uuid.uuid4().hex[:12]}"
        options = ["--detach", "--network=none", f"--name={name}"]
        labels = {SESSION_LABEL: self.session, **(labels or {})}
        options += [f"--label={key}={value}" for key, value in labels.items()]
        options += [f"--env={key}={value}" for key, value in (environment or {}).items()]
        options += [f"--volume={mount}" for mount in mounts]
        options += [] if user is None else [f"--user={user}"]
        options += ["--read-only"] if read_only else []
        self.started.append(name)
        self.engine.run("run", *options, *arguments, image, *command)
        return Container(self.engine, name, interpreter)

    def remove_all(self) -> None:
        """Remove what was started here, whatever became of it."""
        if self.started:
            self.engine.run("rm", "--force", "--volumes", *self.started, check=False)
            self.started.clear()


def sweep(engine: Engine, session: str) -> None:
    """Remove every container and image of a test session, those of failed tests included."""
    mine = f"label={SESSION_LABEL}={session}"
    if containers := engine.lines("ps", "--all", "--quiet", "--filter", mine):
        engine.run("rm", "--force", "--volumes", *containers, check=False)
    if images := engine.lines("images", "--quiet", "--filter", mine):
        engine.run("rmi", "--force", *dict.fromkeys(images), check=False)
