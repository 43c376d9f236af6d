"""Finds the Pythons of the target and asks each, in a fresh process, what it would import."""

from __future__ import annotations

import grp
import os
import pwd

from overlaysync.agent.failure import Failure
from overlaysync.agent.frames import to_text
from overlaysync.agent.inspection import Inspection, Patience
from overlaysync.agent.places import candidates, prefix_of, suspected
from overlaysync.agent.request import Request

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from typing import Any


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
    hints = request.paths("hints")
    paths = [explicit] if explicit else candidates(setting.environment, setting.directory, hints)
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
        if not row.get("distributions"):
            row["suspected"] = suspected(
                prefix_of(path), request.text("distribution"), asked=answer is not None
            )
        rows.append(row)
    return rows


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
