"""Wheels written by hand, and installed by pip or as pip does it."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

Row = tuple[str, str, str]
"""A line of RECORD: path, hash, size."""

INSTALLER = b"pip\n"
GENERATOR = "overlaysync-tests"
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The first moment that a zip archive can hold: equal content gives an equal wheel."""


def write_wheel(
    directory: Path,
    distribution: str,
    version: str,
    files: Mapping[str, bytes],
    *,
    tag: str = "py3-none-any",
    requires: Sequence[str] = (),
) -> Path:
    """Write a wheel of these installed paths (PyPA binary distribution format); its path.

    Args:
        tag: python-abi-platform; any but a ``-none-any`` one makes it a platform wheel.
        requires: requirements, as ``Requires-Dist`` has them.
    """
    stem = f"{distribution.replace('-', '_')}-{version}"
    information = f"{stem}.dist-info"
    pure = "true" if tag.endswith("-none-any") else "false"
    contents = dict(sorted(files.items()))
    lines = ["Metadata-Version: 2.1", f"Name: {distribution}", f"Version: {version}"]
    lines += [f"Requires-Dist: {requirement}" for requirement in requires]
    contents[f"{information}/METADATA"] = "".join(f"{line}\n" for line in lines).encode()
    contents[f"{information}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: {GENERATOR}\nRoot-Is-Purelib: {pure}\nTag: {tag}\n".encode()
    )
    record = f"{information}/RECORD"
    contents[record] = record_text([*map(record_row, contents, contents.values()), (record, "", "")])
    directory.mkdir(parents=True, exist_ok=True)
    wheel = directory / f"{stem}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            member = zipfile.ZipInfo(name, EARLIEST)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            archive.writestr(member, content)
    return wheel


def record_row(name: str, content: bytes) -> Row:
    """The line of RECORD for a file: URL-safe base64 of its SHA-256 without padding, and its size."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return name, f"sha256={digest}", str(len(content))


def record_text(rows: Iterable[Row]) -> bytes:
    """RECORD as the bytes of its file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def read_record(path: Path) -> set[Row]:
    """The lines of a RECORD file."""
    with path.open(newline="") as file:
        return {(name, digest, size) for name, digest, size in csv.reader(file)}


def pip_install(wheel: Path, python: Path, *options: str) -> None:
    """Install a wheel by the real pip for another interpreter, offline and without its requirements.

    Raises:
        RuntimeError: pip failed; the message holds its stderr.
    """
    command = [sys.executable, "-m", "pip", "--isolated", "--python", str(python), "install", "--quiet"]
    command += ["--no-index", "--no-deps", "--no-cache-dir", "--no-warn-script-location"]
    command += ["--disable-pip-version-check", *options, str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"pip could not install {wheel.name}: {done.stderr.strip()}")


def unpack_wheel(wheel: Path, site_packages: Path, python: Path) -> None:
    """Install a wheel of one distribution within milliseconds, as pip would: unpacked, compiled, recorded.

    What pip alone adds is left out: ``REQUESTED`` and ``direct_url.json``. The wheel holds no scripts.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(site_packages)
    for name in names:
        if name.endswith(".so"):
            (site_packages / name).chmod(0o755)
    record_name = next(name for name in names if name.endswith(".dist-info/RECORD"))
    record = site_packages / record_name
    record.with_name("INSTALLER").write_bytes(INSTALLER)
    packages = sorted({name.split("/")[0] for name in names} - {record_name.split("/")[0]})
    roots = [site_packages / package for package in packages]
    subprocess.run([python, "-I", "-m", "compileall", "-q", *roots], timeout=60, check=True)
    compiled = {str(path.relative_to(site_packages)) for root in roots for path in root.rglob("*.pyc")}
    installer = record_row(record_name.replace("RECORD", "INSTALLER"), INSTALLER)
    rows = read_record(record) | {installer} | {(name, "", "") for name in compiled}
    record.write_bytes(record_text(sorted(rows)))
