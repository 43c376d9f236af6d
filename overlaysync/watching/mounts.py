"""Which file system holds a directory."""

from __future__ import annotations

from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
SILENT = ("9p", "afs", "ceph", "cifs", "fuse", "ncpfs", "nfs", "prl_fs", "smb", "vboxsf", "virtiofs")
"""How the types begin on which changes of another machine raise no event (inotify(7), "Limitations")."""


def file_system_of(path: Path, mounts: Path = MOUNTS) -> str | None:
    """The type of the file system that holds a path, by ``mountinfo`` (proc(5)); None: unknown."""
    try:
        lines = mounts.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return None
    best, found = -1, None
    for line in lines:
        before, _, after = line.partition(" - ")
        fields = before.split()
        if len(fields) < 5 or not after:
            continue
        point = fields[4].encode(errors="surrogateescape").decode("unicode_escape")
        if path.is_relative_to(point) and len(point) >= best:
            best, found = len(point), after.split()[0]
    return found
