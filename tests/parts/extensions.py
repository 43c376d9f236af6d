"""A real compiled module for a wheel, without a compiler: CPython's own ``_queue``, moved into a package.

Its ``PyInit__queue`` matches any module whose last name is ``_queue``.
"""

from __future__ import annotations

import base64
import json
import subprocess
from dataclasses import dataclass

READ_EXTENSION = """
import base64, json, _queue, os, sys, sysconfig
with open(_queue.__file__, "rb") as file:
    content = base64.b64encode(file.read()).decode()
platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
print(json.dumps([os.path.basename(_queue.__file__), content, "cp%d%d" % sys.version_info[:2], platform]))
"""


@dataclass(frozen=True, slots=True)
class Extension:
    """An extension module as a file, and the wheel tag of the interpreter that can load it."""

    file_name: str
    content: bytes
    wheel_tag: str


def extension_of(*python: str) -> Extension:
    """The extension of the interpreter that ``python`` starts, on this machine or through an engine.

    Raises:
        RuntimeError: the interpreter cannot be started, or has ``_queue`` built in.
    """
    done = subprocess.run(
        [*python, "-I", "-S", "-c", READ_EXTENSION], capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"no extension module from {' '.join(python)}: {done.stderr.strip()}")
    file_name, content, version, platform = json.loads(done.stdout)
    return Extension(file_name, base64.b64decode(content), f"{version}-{version}-{platform}")
