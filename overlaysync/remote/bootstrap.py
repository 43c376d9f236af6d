"""How the agent gets into the target: a short program on the command line, the rest over stdin.

Nothing is written there. The program must be readable by any Python, so that an old one can say so.
"""

from __future__ import annotations

import functools
import json
import marshal
import sys
from importlib.util import MAGIC_NUMBER

from overlaysync import agent

IDLE_SECONDS = 900.0
OLD_PYTHON = "overlaysync-old-python "

PROGRAM = f"""
import sys
if sys.version_info < (3, 8):
    sys.stdout.write("{OLD_PYTHON}%d.%d %s\\n" % (sys.version_info[:2] + (sys.executable,)))
    sys.stdout.flush()
    sys.exit(3)
if sys.path[:1] == [""]:
    del sys.path[0]
import io, json, marshal, os
from _frozen_importlib_external import MAGIC_NUMBER
from importlib.machinery import ModuleSpec
def exactly(size):
    pieces = []
    while size:
        piece = os.read(0, size)
        if not piece:
            sys.exit(4)
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
stream = io.BytesIO(exactly(int(exactly(8), 16)))
made_for, sizes = json.loads(stream.readline().decode("ascii"))
modules = dict([(name, (stream.read(source), stream.read(code))) for name, source, code in sizes])
del stream
class Bundle:
    made_for = made_for
    can_run_it = made_for == "%s %s" % (sys.implementation.cache_tag, MAGIC_NUMBER.hex())
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in modules:
            return ModuleSpec(name, Bundle, is_package=name + ".__init__" in modules)
    @staticmethod
    def create_module(spec):
        return None
    @staticmethod
    def exec_module(module):
        name = module.__name__
        source, code = modules[name]
        code = marshal.loads(code) if Bundle.can_run_it else compile(source, "<" + name + ">", "exec")
        exec(code, module.__dict__)
    @staticmethod
    def get_source(name):
        return modules[name][0].decode("utf-8")
    @staticmethod
    def get_both(name):
        return modules[name]
sys.meta_path.insert(0, Bundle)
from overlaysync.agent.serve import main
main(float(sys.argv[1]))
"""


def arguments(idle_limit: float) -> list[str]:
    """What a Python of the target is started with.

    Isolated, without site processing: what the agent runs on must not depend on what it looks at. Old Pythons
    know no ``-I``; these options, and the first lines of the program, are what it stands for.
    """
    return ["-E", "-s", "-S", "-B", "-c", PROGRAM, str(idle_limit)]


def made_for() -> str:
    """Which Pythons can run what this one compiles: those whose ``.pyc`` files it shares (PEP 3147)."""
    return f"{sys.implementation.cache_tag} {MAGIC_NUMBER.hex()}"


@functools.cache
def bundle() -> bytes:
    """The agent's modules as the program reads them, as source and compiled by this Python.

    Eight hex digits of length; a line of JSON: who can run the code, and name and sizes of each module; then
    source and code of one after the other.
    """
    import pkgutil

    package = agent.__name__
    modules = {
        f"{package}.{module.name}": pkgutil.get_data(package, f"{module.name}.py") or b""
        for module in pkgutil.iter_modules(agent.__path__)
    }
    for name in ("overlaysync", package):
        modules[name] = modules[f"{name}.__init__"] = b""
    sizes, content = [], b""
    for name, source in modules.items():
        code = marshal.dumps(compile(source, f"<{name}>", "exec", dont_inherit=True, optimize=0))
        sizes.append((name, len(source), len(code)))
        content += source + code
    content = json.dumps([made_for(), sizes]).encode("ascii") + b"\n" + content
    return b"%08x" % len(content) + content
