"""How a workload of the target would be started."""

from __future__ import annotations

import grp
import os
import pwd

from overlaysync.agent.failure import Failure
from overlaysync.agent.request import Request


class Setting:
    """How a workload would be started: environment, directory and user (see the host's ``model.target``).

    ``facts``: all of it, to be compared.
    """

    def __init__(self, request: Request) -> None:
        self.directory = request.optional_path("working_directory") or b"/"
        self.uid, self.gid, self.groups, home = _user(request.optional_text("user") or "")
        self.environment = dict(os.environb)
        self.environment.pop(b"HOME", None)  # that of the user who writes, maybe not the workload's
        self.environment.update(request.variables("environment"))
        self.environment.setdefault(b"HOME", os.fsencode(home))
        environment = tuple(sorted(self.environment.items()))
        self.facts = (self.directory, self.uid, self.gid, tuple(self.groups), environment)

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
