"""A root file system with the Python of a Debian suite, unpacked from the suite's packages.

Needs apt-get and dpkg-deb and downloads about 20 MB from wherever this machine gets its Debian packages.
No maintainer script is run: the result holds files and nothing else.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PACKAGES = ("python3", "dash", "coreutils", "tar")
ALSO = {"bullseye": ("python3-distutils",)}
"""pip needs distutils, which Debian had taken out of the standard library then."""
DIRECTORIES = (
    "proc",
    "sys",
    "dev",
    "mnt",
    "root",
    "tmp",
    "var/tmp",
    "home/dev",
    "usr/lib/python3/dist-packages",
)
UNSHIPPED = (
    "./usr/share/doc",
    "./usr/share/man",
    "./usr/share/locale",
    "./usr/share/info",
    "EXTERNALLY-MANAGED",
)


class SuiteMissingError(Exception):
    """The packages of a suite cannot be had here; the message says why."""


def unpacked_root(suite: str, work: Path, users: str, groups: str) -> bytes:
    """The root file system as a tar archive.

    Args:
        suite: Debian's code name, such as ``bookworm``.
        work: an empty folder to download and unpack into.
        users, groups: contents of ``/etc/passwd`` and ``/etc/group``.

    Raises:
        SuiteMissingError: no mirror, keyring or tool of Debian here, or the mirror lacks the suite.
    """
    root = work / "root"
    # merged before anything is unpacked: older suites still ship /lib, the loader's path is in both
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for package in _downloaded(suite, work):
        content = _run("dpkg-deb", "--fsys-tarfile", str(package))
        excluded = [f"--exclude={path}" for path in UNSHIPPED]
        _run("tar", "-C", str(root), "-xf", "-", "--keep-directory-symlink", *excluded, input=content)
    for name in DIRECTORIES:
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in ("tmp", "var/tmp"):
        (root / name).chmod(0o1777)
    if not (root / "usr/bin/sh").exists():
        (root / "usr/bin/sh").symlink_to("dash")
    (root / "etc").mkdir(exist_ok=True)
    (root / "etc/passwd").write_text(users)
    (root / "etc/group").write_text(groups)
    return _run("tar", "-C", str(root), "--owner=0", "--group=0", "-cf", "-", ".")


def _downloaded(suite: str, work: Path) -> Iterable[Path]:
    if not KEYRING.exists():
        raise SuiteMissingError("this machine has no keyring of Debian's archive")
    for folder in ("sources", "lists/partial", "archives/partial"):
        (work / folder).mkdir(parents=True)
    (work / "status").touch()
    source = {"Types": "deb", "URIs": _mirror(), "Suites": suite, "Components": "main", "Signed-By": KEYRING}
    text = "".join(f"{field}: {value}\n" for field, value in source.items())
    (work / "sources/suite.sources").write_text(text)
    settings = {
        "Dir::Etc::sourceparts": work / "sources",
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::State::lists": work / "lists",
        "Dir::State::status": work / "status",
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "Dir::Cache::archives": work / "archives",
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",
        "APT::Update::Error-Mode": "any",
        "Acquire::Languages": "none",
        "Debug::NoLocking": "1",
    }
    options = [f"--option={name}={value}" for name, value in settings.items()]
    _run("apt-get", *options, "--quiet=2", "update")
    _run(
        "apt-get",
        *options,
        "--quiet=2",
        "--yes",
        "--download-only",
        "install",
        *PACKAGES,
        *ALSO.get(suite, ()),
    )
    return sorted((work / "archives").glob("*.deb"))


def _mirror() -> str:
    """The first address in this machine's own apt sources whose path is ``/debian``."""
    apt = Path("/etc/apt")
    for path in [*sorted(apt.glob("sources.list.d/*.sources")), apt / "sources.list"]:
        if path.exists() and (
            found := re.search(r"^[^#\n]*?(https?://\S+/debian)/?\s", path.read_text(), re.M)
        ):
            return found[1]
    raise SuiteMissingError("this machine's apt sources name no Debian mirror")


def _run(*argv: str, input: bytes | None = None) -> bytes:
    try:
        done = subprocess.run(argv, input=input, capture_output=True, timeout=300, check=False)
    except FileNotFoundError:
        raise SuiteMissingError(f"{argv[0]} is not installed") from None
    if done.returncode != 0:
        raise SuiteMissingError(f"{argv[0]} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
