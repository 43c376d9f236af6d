"""Finds the Pythons of the target and asks each, in a fresh process, what it would import."""

import glob
import grp
import json
import os
import pwd
import re
import select
import signal
import subprocess
import sys
import time

from overlaysync.agent import inspector
from overlaysync.agent.failure import Failure

ANSWER_LIMIT = 64 * 1024 * 1024
PATIENCE = 120.0  # seconds; start-up hooks of large installations can take many
NAME = re.compile(r"python(\d(\.\d+)?)?$")
USUAL_DIRECTORIES = (
    "/usr/local/bin",
    "/usr/bin",
    "/opt/*/bin",
    "/opt/conda/envs/*/bin",
    "/venv*/bin",
    "/.venv/bin",
    "/app/.venv/bin",
    "/app/venv/bin",
    "/workspace/.venv/bin",
    "/workspace/venv/bin",
    "/root/.venv/bin",
    "/root/venv/bin",
    "/root/miniconda3/bin",
    "/root/miniconda3/envs/*/bin",
    "/home/*/.venv/bin",
    "/home/*/venv/bin",
    "/home/*/miniconda3/bin",
)


class Setting(object):
    """How a workload would be started: environment, directory and user (see the host's ``model.target``)."""

    def __init__(self, request):
        self.directory = request.get("working_directory") or "/"
        self.uid, self.gid, self.groups, home = _user(request.get("user") or "")
        self.environment = dict(os.environ)
        self.environment.pop("HOME", None)  # that of the user who writes, maybe not the workload's
        self.environment.update(request.get("environment") or {})
        self.environment.setdefault("HOME", home)

    def become(self):
        """Runs in the child before the interpreter: takes the workload's user, where that is another one."""
        if os.geteuid() == 0 and self.uid != os.geteuid():
            os.setgroups(self.groups)
            os.setgid(self.gid)
            os.setuid(self.uid)
        os.chdir(self.directory)


def _user(text):
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
    except KeyError:
        if not name.isdigit():
            raise Failure("interpreter", "the target has no user named %r" % name)
        uid, gid, home, groups = int(name), 0, "/", []
    if group:
        gid = int(group) if group.isdigit() else grp.getgrnam(group).gr_gid
    return uid, gid, groups, home


def candidates(setting, hints):
    """Paths of Pythons worth asking, one for each (real file, prefix)."""
    directories = setting.environment.get("PATH", os.defpath).split(os.pathsep)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if setting.environment.get(name):
            directories.append(os.path.join(setting.environment[name], "bin"))
    directories.append(os.path.join(setting.directory, ".venv", "bin"))
    for pattern in USUAL_DIRECTORIES:
        directories.extend(sorted(glob.glob(pattern)))
    paths = list(hints) + [sys.executable]
    for directory in directories:
        if os.path.isabs(directory):
            paths.extend(os.path.join(directory, name) for name in _pythons(directory))
    chosen = {}
    for path in paths:
        if path and os.access(path, os.X_OK) and os.path.isfile(path):
            chosen.setdefault((os.path.realpath(path), prefix_of(path)), path)
    return list(chosen.values())


def _pythons(directory):
    try:
        return sorted(name for name in os.listdir(directory) if NAME.match(name))
    except OSError:
        return []


def prefix_of(path):
    """``sys.prefix`` as the interpreter at ``path`` would find it, without running it.

    A ``pyvenv.cfg`` beside or above the executable as it was named decides (PEP 405); else the place of the
    real file.
    """
    directory = os.path.dirname(os.path.abspath(path))
    for home in (directory, os.path.dirname(directory)):
        if os.path.isfile(os.path.join(home, "pyvenv.cfg")):
            return os.path.realpath(home)
    return os.path.dirname(os.path.dirname(os.path.realpath(path)))


def ask(paths, setting, request):
    """Runs the inspector under each interpreter at once; returns [(path, answer or None, error or None)]."""
    started = [(path,) + _start(path, setting, request) for path in paths]
    return [(path,) + _finish(process, handle, error) for path, process, handle, error in started]


def _start(path, setting, request):
    source = inspector.__loader__.get_source(inspector.__name__)
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(
            [path, "-c", source, str(writing)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=setting.environment,
            pass_fds=(writing,),
            preexec_fn=setting.become,
            start_new_session=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        os.close(reading)
        return None, None, "cannot be started in %s as uid %d: %s" % (setting.directory, setting.uid, error)
    finally:
        os.close(writing)
    try:
        process.stdin.write(json.dumps(request).encode("ascii"))
        process.stdin.close()
    except OSError:
        pass  # it died early; its standard error says why
    return process, reading, None


def _finish(process, handle, error):
    if process is None:
        return None, error
    deadline = time.monotonic() + PATIENCE
    pieces, complaint = [], b""
    open_handles = {handle: pieces, process.stderr.fileno(): None}
    while open_handles:
        ready, _, _ = select.select(list(open_handles), [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            os.killpg(process.pid, signal.SIGKILL)
            break
        for item in ready:
            piece = os.read(item, 65536)
            if not piece:
                del open_handles[item]
            elif item == handle:
                pieces.append(piece)
            else:
                complaint = (complaint + piece)[-2000:]
    os.close(handle)
    process.stderr.close()
    process.wait()
    try:
        return json.loads(b"".join(pieces)[:ANSWER_LIMIT].decode("ascii")), None
    except ValueError:
        last = complaint.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no answer"]
        return None, "exit code %s: %s" % (process.returncode, last[0])


def survey(request):
    """All Pythons that answer, each with the distribution copies that it sees."""
    setting = Setting(request)
    explicit = request.get("interpreter")
    paths = [explicit] if explicit else candidates(setting, request.get("hints", ()))
    rows = []
    for path, answer, error in ask(paths, setting, {"do": "survey", "distribution": request["distribution"]}):
        row = {"path": path, "real": os.path.realpath(path), "prefix": prefix_of(path), "error": error}
        row.update(answer or {})
        rows.append(row)
    return rows


def read_back(request):
    """Resolution of modules, and readability of files, by a fresh process of one interpreter."""
    question = {"do": "read_back", "modules": request["modules"], "files": request["files"]}
    ((_, answer, error),) = ask([request["interpreter"]], Setting(request), question)
    if answer is None:
        raise Failure(
            "interpreter", "%s cannot be asked what it imports: %s" % (request["interpreter"], error)
        )
    return answer
