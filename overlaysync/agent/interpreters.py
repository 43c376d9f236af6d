"""Finds the Pythons of the target and asks each, in a fresh process, what it would import."""

from __future__ import annotations

import grp
import os
import pwd
import re
import sys

from overlaysync.agent.failure import Failure
from overlaysync.agent.frames import to_path, to_text
from overlaysync.agent.inspection import Inspection, Patience
from overlaysync.agent.request import Request

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

NAME = re.compile(rb"python(\d(\.\d+t?)?)?\Z")
USUAL_DIRECTORIES = (
    b"/usr/local/bin",
    b"/usr/bin",
    b"/opt/*/bin",
    b"/opt/conda/envs/*/bin",
    b"/venv*/bin",
    b"/.venv/bin",
    b"/app/.venv/bin",
    b"/app/venv/bin",
    b"/workspace/.venv/bin",
    b"/workspace/venv/bin",
    b"/root/.venv/bin",
    b"/root/venv/bin",
    b"/root/miniconda3/bin",
    b"/root/miniconda3/envs/*/bin",
    b"/home/*/.venv/bin",
    b"/home/*/venv/bin",
    b"/home/*/miniconda3/bin",
)


class Setting:
    """How a workload would be started: environment, directory and user (see the host's ``model.target``)."""

    def __init__(self, request: Request) -> None:
        self.directory = request.optional_path("working_directory") or b"/"
        self.uid, self.gid, self.groups, home = _user(request.optional_text("user") or "")
        self.environment = dict(os.environb)
        self.environment.pop(b"HOME", None)  # that of the user who writes, maybe not the workload's
        self.environment.update(request.variables("environment"))
        self.environment.setdefault(b"HOME", os.fsencode(home))

    def become(self) -> None:
        """Runs in the child before the interpreter: takes the workload's user, where that is another one."""
        if os.geteuid() == 0 and (self.uid, self.gid) != (os.geteuid(), os.getegid()):
            os.setgroups(self.groups)
            os.setgid(self.gid)
            os.setuid(self.uid)
        os.chdir(self.directory)


def _user(text: str) -> tuple[int, int, list[int], str]:
    """(uid, gid, groups, home) of ``name``, ``uid`` or either with ``:group``; the running user for ""."""
    if not text or os.geteuid() != 0:
        try:
            home = pwd.getpwuid(os.geteuid()).pw_dir
        except KeyError:
            home = "/"
        return os.geteuid(), os.getegid(), [], home
    name, _, group = text.partition(":")
    try:
        entry = pwd.getpwuid(int(name)) if name.isdigit() else pwd.getpwnam(name)
        uid, gid, home = entry.pw_uid, entry.pw_gid, entry.pw_dir
        groups = os.getgrouplist(entry.pw_name, gid)
    except (KeyError, OverflowError):
        if not name.isdigit():
            raise Failure("interpreter", "the target has no user named %r" % name)
        uid, gid, home, groups = int(name), 0, "/", []
    try:
        if group:
            gid = int(group) if group.isdigit() else grp.getgrnam(group).gr_gid
    except KeyError:
        raise Failure("interpreter", "the target has no group named %r" % group)
    return uid, gid, groups, home


def candidates(setting: Setting, hints: Sequence[bytes]) -> list[bytes]:
    """Paths of Pythons worth asking, one for each (real file, prefix).

    ``hints`` are programs that may be Pythons; what is not named like one is never started.
    """
    directories = setting.environment.get(b"PATH", os.fsencode(os.defpath)).split(b":")
    for name in (b"VIRTUAL_ENV", b"CONDA_PREFIX"):
        if setting.environment.get(name):
            directories.append(os.path.join(setting.environment[name], b"bin"))
    directories.append(os.path.join(setting.directory, b".venv", b"bin"))
    for pattern in USUAL_DIRECTORIES:
        directories.extend(_expanded(pattern))
    paths = [*hints, os.fsencode(sys.executable or "")]
    for directory in directories:
        if os.path.isabs(directory):
            paths.extend(os.path.join(directory, name) for name in _names(directory))
    chosen: dict[tuple[bytes, bytes], bytes] = {}
    for path in paths:
        if NAME.match(os.path.basename(path)) and os.access(path, os.X_OK) and os.path.isfile(path):
            chosen.setdefault((os.path.realpath(path), prefix_of(path)), path)
    return list(chosen.values())


def _names(directory: bytes) -> list[bytes]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def _expanded(pattern: bytes) -> list[bytes]:
    """The directories that a pattern with at most one ``*``, at the end of a component, stands for."""
    head, star, tail = pattern.partition(b"*")
    if not star:
        return [pattern]
    above, start = os.path.split(head)
    return [os.path.join(above, name) + tail for name in _names(above) if name.startswith(start)]


def prefix_of(path: bytes) -> bytes:
    """``sys.prefix`` as the interpreter at ``path`` would find it, without running it.

    A ``pyvenv.cfg`` beside or above the executable as it was named decides (PEP 405); else the place of the
    real file.
    """
    directory = os.path.dirname(os.path.abspath(path))
    for home in (directory, os.path.dirname(directory)):
        if os.path.isfile(os.path.join(home, b"pyvenv.cfg")):
            return os.path.realpath(home)
    return os.path.dirname(os.path.dirname(os.path.realpath(path)))


def _distrusted(path: bytes, setting: Setting) -> str | None:
    """Why a Python that was only found, not named, is not run: somebody else could make it do anything."""
    if os.geteuid() != 0:
        return None
    for place in (path, os.path.dirname(path), prefix_of(path)):
        owner = os.stat(place).st_uid
        if owner not in (0, setting.uid):
            return "belongs to uid %d, so it is not run as uid %d unless it is named" % (owner, setting.uid)
    return None


def survey(request: Request, host: int) -> list[dict[str, Any]]:
    """All Pythons that answer, each with the distribution copies that it sees.

    ``host``: the handle that requests come in by; nothing is waited for once there is something to read.
    """
    setting = Setting(request)
    explicit = request.optional_path("interpreter")
    paths = [explicit] if explicit else candidates(setting, request.paths("hints"))
    question = {"do": "survey", "distribution": request.text("distribution")}
    patience = Patience(request.seconds("patience"), host)
    asked = []
    for path in paths:
        reason = None if explicit else _distrusted(path, setting)
        asked.append((path, reason, None if reason else Inspection(path, setting, question)))
    rows = []
    for path, reason, inspection in asked:
        answer, error = inspection.finish(patience) if inspection else (None, reason)
        row: dict[str, Any] = {"real": to_text(os.path.realpath(path)), "prefix": to_text(prefix_of(path))}
        row.update(answer or {}, path=to_text(path), error=error)
        if answer is None:
            row["suspected"] = _may_hold(prefix_of(path), request.text("distribution"))
        rows.append(row)
    return rows


def _may_hold(prefix: bytes, distribution: str) -> bool:
    """Whether a dist-info of the project lies below a prefix, by its name alone (PEP 503)."""
    words = re.split(rb"[-_.]+", to_path(distribution))
    name = re.compile(rb"[-_.]+".join(map(re.escape, words)) + rb"-[^-]+\.dist-info\Z", re.IGNORECASE)
    return any(
        name.match(entry)
        for directory in (b"site-packages", b"dist-packages")
        for place in _expanded(os.path.join(prefix, b"lib/python*", directory))
        for entry in _names(place)
    )


def read_back(request: Request, host: int) -> dict[str, Any]:
    """Resolution of modules, and readability of files, by a fresh process of one interpreter.

    ``host``: as ``survey`` has it.
    """
    question = {
        "do": "read_back",
        "modules": [to_text(name) for name in request.paths("modules")],
        "files": [to_text(path) for path in request.paths("files")],
    }
    path = request.path("interpreter")
    inspection = Inspection(path, Setting(request), question)
    answer, error = inspection.finish(Patience(request.seconds("patience"), host))
    if answer is None:
        raise Failure("interpreter", "%s cannot be asked what it imports: %s" % (os.fsdecode(path), error))
    return answer
