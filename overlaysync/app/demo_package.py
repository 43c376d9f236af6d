"""The demo's package: its sources, and an installation of it such as a wheel's would be."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from pathlib import Path

from overlaysync.errors import TargetError

DISTRIBUTION = "signalbox"

SOURCES = {
    "pyproject.toml": f"""\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "{DISTRIBUTION}"
version = "1.0"
""",
    "csrc/kernel.c": "int amplify(int value) { return value * 1; }\n",
    f"{DISTRIBUTION}/__init__.py": f"""\
from {DISTRIBUTION}.gain import GAIN
from {DISTRIBUTION}._xxhash import xxh32_intdigest


def describe():
    return f"gain {{GAIN}} (compiled module says {{xxh32_intdigest(b'signal'):08x}})"
""",
    f"{DISTRIBUTION}/gain.py": "GAIN = 1\n",
    f"{DISTRIBUTION}/filters/__init__.py": "",
    f"{DISTRIBUTION}/filters/lowpass.py": "def lowpass(value):\n    return value / 2\n",
}


def install(repository: Path, site_packages: Path, commit: str) -> None:
    """Installs the package of ``repository`` as an installer would: files, dist-info, RECORD (PEP 376).

    The build's commit stands in ``direct_url.json`` (PEP 610). The compiled module is a real one: xxhash's,
    which comes with this tool; nothing is compiled.
    """
    names = [name for name in SOURCES if name.startswith(f"{DISTRIBUTION}/")]
    for name in names:
        (site_packages / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(repository / name, site_packages / name)
    extension = _compiled_module()
    names.append(f"{DISTRIBUTION}/{extension.name}")
    shutil.copyfile(extension, site_packages / names[-1])
    information = f"{DISTRIBUTION}-1.0.dist-info"
    (site_packages / information).mkdir()
    vcs = {"vcs": "git", "commit_id": commit}
    texts = {
        "METADATA": f"Metadata-Version: 2.1\nName: {DISTRIBUTION}\nVersion: 1.0\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: overlaysync demo\nRoot-Is-Purelib: false\n",
        "INSTALLER": "overlaysync-demo\n",
        "direct_url.json": json.dumps({"url": repository.as_uri(), "vcs_info": vcs}),
    }
    for name, text in texts.items():
        names.append(f"{information}/{name}")
        (site_packages / names[-1]).write_text(text, encoding="utf-8")
    rows = [_row(site_packages, name) for name in names]
    (site_packages / information / "RECORD").write_text("\n".join([*rows, f"{information}/RECORD,,\n"]))


def _row(site_packages: Path, name: str) -> str:
    content = (site_packages / name).read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"


def _compiled_module() -> Path:
    """xxhash's extension module, for the Python that runs this."""
    import xxhash

    found = sorted(Path(xxhash.__file__).parent.glob("_xxhash*.so"))
    if not found:
        raise TargetError("the installed xxhash has no compiled module", "reinstall overlaysync", code="demo")
    return found[0]
