"""How the agent gets into the target: a short program on the command line, the rest over stdin.

Nothing is written there. The program must be readable by any Python, so that an old one can say so.
"""

from __future__ import annotations

import functools
import json
import pkgutil

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
import json, os
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
sources = json.loads(exactly(int(exactly(8), 16)).decode("ascii"))
class Bundle:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in sources:
            return ModuleSpec(name, Bundle, is_package=name + ".__init__" in sources)
    @staticmethod
    def create_module(spec):
        return None
    @staticmethod
    def exec_module(module):
        exec(compile(sources[module.__name__], "<" + module.__name__ + ">", "exec"), module.__dict__)
    @staticmethod
    def get_source(name):
        return sources[name]
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


@functools.cache
def bundle() -> bytes:
    """The agent's modules as the program reads them: eight hex digits of length, then JSON in ASCII."""
    package = agent.__name__
    sources = {
        f"{package}.{module.name}": (pkgutil.get_data(package, f"{module.name}.py") or b"").decode()
        for module in pkgutil.iter_modules(agent.__path__)
    }
    sources[package] = sources[f"{package}.__init__"] = ""
    sources["overlaysync"] = sources["overlaysync.__init__"] = ""
    content = json.dumps(sources).encode("ascii")
    return b"%08x" % len(content) + content
