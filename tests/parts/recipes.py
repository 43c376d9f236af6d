"""What a test image is made of: an interpreter of this machine, its libraries, and a few programs."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import stat
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.parts.interpreters import Interpreter, libraries_of

REPOSITORY = "overlaysync-test"
USERS = "root:x:0:0:root:/root:/bin/sh\ndev:x:1000:1000:dev:/home/dev:/bin/sh\n"
GROUPS = "root:x:0:\ndev:x:1000:\n"
DIRECTORIES = {
    "root": 0o700,
    "home/dev": 0o755,
    "tmp": 0o1777,
    "var/tmp": 0o1777,
    "mnt": 0o755,
    "proc": 0o555,
}
MERGED = ("bin", "sbin", "lib", "lib64")
PROGRAMS = (
    *("cat", "chmod", "chown", "cp", "env", "false", "head", "id", "kill", "ln", "ls", "mkdir", "mv", "rm"),
    *("sh", "stat", "tar", "touch", "true"),
)
MADE_BY = b"".join(Path(__file__).with_name(name).read_bytes() for name in ("recipes.py", "interpreters.py"))
"""Read when this module is loaded: edited later, it must not name what the loaded code makes."""
MANYLINUX = ("libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1")
"""Parts of the C library that older builds name: any manylinux wheel may (PEP 600)."""
SLEEP = ["/usr/bin/sleep", "infinity"]
"""The workload of an idle container: alive, and no Python."""


def configuration(path: str) -> list[str]:
    """The configuration of an idle image in the words of a Dockerfile, with this PATH."""
    return [f"ENV PATH={path}", f"CMD {json.dumps(SLEEP)}", "LABEL overlaysync.test.base=recipe"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What an image holds: an interpreter, perhaps a virtual environment on it, perhaps a shell and tools."""

    python: Interpreter
    venv: bool
    shell: bool

    @property
    def tag(self) -> str:
        """Named by everything that the image is made from."""
        digest = hashlib.sha256(MADE_BY + repr(self).encode())
        kind = "venv" if self.venv else "dist-packages" if self.python.has_dist_packages else "system"
        name = f"py{self.python.version}-{kind}{'' if self.shell else '-no-shell'}"
        return f"{REPOSITORY}/{name}:{digest.hexdigest()[:16]}"

    @property
    def configuration(self) -> list[str]:
        """The image's configuration."""
        return configuration(("/opt/venv/bin:" if self.venv else "") + "/usr/local/bin:/usr/bin:/bin")


def root_archive(recipe: Recipe) -> bytes:
    """The root file system of a recipe as a tar archive, everything owned by root."""
    python = recipe.python
    prefix = "usr" if python.has_dist_packages else "usr/local"
    library = f"{prefix}/lib/python{python.version}"
    programs = [Path(found) for name in _program_names(recipe) if (found := shutil.which(name))]
    files = {f"usr/bin/{program.name}": program.resolve() for program in programs}
    files |= {f"{prefix}/bin/python{python.version}": python.executable}
    files |= {f"{library}/{name}": path for name, path in python.files()}
    loading = [path for path in files.values() if path.suffix == ".so"]
    files |= libraries_of([*(path.resolve() for path in programs), python.executable, *loading])
    if c_library := files.get("usr/lib/libc.so.6"):
        beside = {f"usr/lib/{name}": c_library.with_name(name) for name in MANYLINUX}
        files |= {name: path for name, path in beside.items() if path.exists()}
    links = {name: f"usr/{name}" for name in MERGED}
    links[f"{prefix}/bin/python3"] = f"python{python.version}"
    texts = {"etc/passwd": USERS, "etc/group": GROUPS}
    site = [f"{library}/site-packages"]
    if python.has_dist_packages:
        site = ["usr/lib/python3/dist-packages", f"usr/local/lib/python{python.version}/dist-packages"]
    if recipe.venv:
        links["opt/venv/bin/python3"] = f"/{prefix}/bin/python{python.version}"
        texts["opt/venv/pyvenv.cfg"] = f"home = /{prefix}/bin\ninclude-system-site-packages = false\n"
        site.append(f"opt/venv/lib/python{python.version}/site-packages")
    return _tar(DIRECTORIES | dict.fromkeys(site, 0o755), files, links, texts)


def _program_names(recipe: Recipe) -> tuple[str, ...]:
    return ("sleep", *PROGRAMS) if recipe.shell else ("sleep",)


def _tar(
    directories: Mapping[str, int],
    files: Mapping[str, Path],
    links: Mapping[str, str],
    texts: Mapping[str, str],
) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, target in links.items():
            archive.addfile(_member(name, 0o777, type=tarfile.SYMTYPE, linkname=target))
        for name, mode in directories.items():
            owner = 1000 if name == "home/dev" else 0
            archive.addfile(_member(name, mode, type=tarfile.DIRTYPE, uid=owner, gid=owner))
        for name, text in texts.items():
            archive.addfile(_member(name, 0o644, size=len(text)), io.BytesIO(text.encode()))
        for name, path in files.items():
            # bytecode names its source's whole seconds: the time has to travel with the file
            status, content = path.stat(), path.read_bytes()
            mode = stat.S_IMODE(status.st_mode) | 0o444
            member = _member(name, mode, size=len(content), mtime=int(status.st_mtime))
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _member(name: str, mode: int, **fields: object) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.mode = mode
    for field, value in fields.items():
        setattr(member, field, value)
    return member
