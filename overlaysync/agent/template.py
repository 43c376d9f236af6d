"""Keeps an interpreter of the target as it is right after its start: a child answers each question.

So that no question is answered by a process in which another one left traces, nor by one that has read what a
process started now would read otherwise. Where that cannot be known, one question is answered, and no more.
Question and answer go through inherited handles: what start-up hooks read or print does no harm.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import site
import sys
from importlib import machinery

from overlaysync.agent.native import never_waiting, search_path

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, BinaryIO, NoReturn

    Answering = Callable[[dict[str, Any]], dict[str, Any]]

CODE = (b"import ", b"import\t")
"""How a line of a ``.pth`` file begins that is run."""
RACY = 5.0
"""Seconds in which a file may have changed again after this process read it, and before it was looked at."""
KNOWN_LINES = {
    # of setuptools, in distutils-precedence.pth
    b"import os; var = 'SETUPTOOLS_USE_DISTUTILS'; enabled = os.environ.get(var, 'local') == 'local'; "
    b"enabled and __import__('_distutils_hack').add_shim();": "_distutils_hack",
    b"import _virtualenv": "_virtualenv",  # of virtualenv
}
"""Lines of ``.pth`` files that run code, with the module that it is in."""
KNOWN_MODULES = {
    "sitecustomize": (
        # Debian's, which installs a reporter of crashes
        "43d81125d92376b1a69d53a71126a041cc9a18d8080e92dea0a2ae23be138b1e",
    ),
    "_distutils_hack": (
        # setuptools 60 to 82
        "026d425507ed93f30700abdf25056940cc15c7796b01b2863e1288520c1ac036",
        "4d27a48545b57dd137ae35376fcf326d2064271084a487960686f8704b94de4a",
        "46849a60a7cc85189cf6b5ac62b3f135004862ce6a96540a81c95ef6fbc4dc3e",
        "4bf5b0bc8f8af7ce7096e96f7167cf4f776f2cc0983f5c8f876ca780b3a67781",
        "1542e30b6d07156f447ab4bcaec4a3a330feb93167d5dcaf548f6d6b2cdb852c",
        "9b737c2ccce2dad2e896acfb6285c708419121078c00231a5439a7647cdd72e4",
        "a325c4f62f92a19daaa558088e4339afd78e14df40c20a7d51c9dc3a714dc237",
        "df81e6bcba34ee3e3952f776551fb669143b9490fdd6c4caeb32609f97e985b4",
    ),
    "_virtualenv": (
        # virtualenv 20.13 to 20.34
        "ce57d5e0d9b5d7356cb42da7450ba8f9359bdf693e335f4c921626943c77e64d",
        "c9199315871b11b12df226f890a38e66e63191e1adbfb11a66e6861151b33fca",
        "0aeb86546345c1d0fada097536e35525714d5cdbcc2d8eb3f9912a955044fcff",
        "0f20351ea7e90039c46d3fabdef991f28b1e3ff33eb13ee6f0d5cd21ea0e8b14",
    ),
}
"""By SHA-256 of their source: modules that read nothing at the start; their bytecode is taken to be of it."""
CUSTOMISING = ("sitecustomize", "usercustomize", "apport_python_hook")
"""Modules that are imported at the start where they are there; the last one by Debian's ``sitecustomize``."""
KNOWN_FINDERS = {"_frozen_importlib", "_frozen_importlib_external", "zipimport"}
"""Modules of finders that read nothing but what is looked at here; those of known modules come on top."""
LINE_ENDS = re.compile("[\v\f\x1c-\x1e]")  # of .pth files, for Python 3.13 and later
TEXT_LIMIT = 1 << 20


class World:
    """All that this process read when it started: while it stands, a new process would be as this one.

    ``started``: before it was started, in seconds since the epoch. ``handles``: its own.
    """

    def __init__(self, started: float, handles: set[int]) -> None:
        places = {entry for entry in search_path() if entry}
        places.update(getattr(site, "getsitepackages", list)(), filter(None, [site.USER_SITE]))
        files = {path for directory in places for path in _pth_files(directory)}
        lines = {path: _lines(path) for path in files}
        code = {line for found in lines.values() for line in found or () if line.startswith(CODE)}
        paths = places | files | {path for file in files for path in _named(file, lines[file] or ())}
        paths.update(path for module in list(sys.modules.values()) for path in _of_module(module))
        programs = {sys.executable, os.path.realpath(sys.executable)}
        paths |= {*programs, os.path.join(sys.prefix, "pyvenv.cfg")} | {
            place for program in programs for place in _settings_of(program)
        }
        self._stamps = {place: _stamp(place) for path in paths if path for place in _there(path)}
        newest = max((max(stamp[2:4]) for stamp in self._stamps.values() if stamp), default=0)
        self.is_known = (
            newest < (started - RACY) * 1e9
            and None not in lines.values()
            and _runs_known_code_alone(code)
            and _holds_nothing_else(handles)
        )

    def stands(self) -> bool:
        return all(_stamp(path) == stamp for path, stamp in self._stamps.items())


def _pth_files(directory: str) -> list[str]:
    try:
        return [os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".pth")]
    except OSError:
        return []


def _lines(path: str) -> list[bytes] | None:
    """The lines of a ``.pth`` file; None where versions of Python do not agree on what they are."""
    try:
        with open(path, "rb", opener=never_waiting) as stream:
            content = stream.read(TEXT_LIMIT + 1)
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeError):
        return None
    if len(content) > TEXT_LIMIT or LINE_ENDS.search(text) or not text.isascii():
        return None
    return [line.rstrip() for line in text.encode("utf-8").splitlines()]


def _named(file: str, lines: Iterable[bytes]) -> list[str]:
    """What the lines of a ``.pth`` file name, which need not be there."""
    directory = os.path.dirname(file)
    names = [os.fsdecode(line) for line in lines if line and not line.startswith(CODE)]
    return [os.path.abspath(os.path.join(directory, name)) for name in names if "\0" not in name]


def _settings_of(program: str) -> list[str]:
    """Where Python looks for ``pyvenv.cfg``: beside the program, and one level above."""
    directory = os.path.dirname(program)
    return [os.path.join(place, "pyvenv.cfg") for place in (directory, os.path.dirname(directory))]


def _of_module(module: Any) -> list[str]:
    """Where a module that was imported at the start comes from, and where others of its package would."""
    try:
        cached = getattr(getattr(module, "__spec__", None), "cached", None)
        found = [getattr(module, "__file__", None), cached, *(getattr(module, "__path__", None) or ())]
    except Exception:  # a module of the target may have any __path__
        return []
    return [path for path in found if isinstance(path, str)]


def _there(path: str) -> list[str]:
    """A path, and what is above it where it is not there, as of a directory in a zip file."""
    found = [path]
    while _stamp(found[-1]) is None and os.path.dirname(found[-1]) not in ("", found[-1]):
        found.append(os.path.dirname(found[-1]))
    return found


def _stamp(path: str) -> tuple[int, ...] | None:
    try:
        now = os.stat(path)
    except (OSError, ValueError):
        return None
    return now.st_dev, now.st_ino, now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_mode


def _runs_known_code_alone(code: set[bytes]) -> bool:
    """Whether all that ran at the start is the standard library, or known to read nothing.

    Any other code could have read anything, which is not looked at; it may have left no trace, too.
    """
    finders = {getattr(finder, "__module__", "") for finder in (*sys.meta_path, *sys.path_hooks)}
    expected = {KNOWN_LINES.get(line, "") for line in code}
    expected.update(filter(_can_be_found, CUSTOMISING))
    foreign = {
        name
        for name, module in list(sys.modules.items())
        if name in CUSTOMISING or not _is_pythons(module)  # Debian's stands among the standard library
    } - {"__main__"}
    return (
        expected <= foreign
        and all(_digest(sys.modules[name]) in KNOWN_MODULES.get(name, ()) for name in foreign)
        and finders <= KNOWN_FINDERS | foreign
        and not any("." in "".join(option.split(":")[2:3]) for option in sys.warnoptions)  # it is imported
    )


def _can_be_found(name: str) -> bool:
    try:
        return machinery.PathFinder.find_spec(name) is not None
    except Exception:  # a path hook of the target may raise anything
        return True


def _is_pythons(module: Any) -> bool:
    """Whether a module is built in, frozen, or of the standard library's directories."""
    spec = getattr(module, "__spec__", None)
    origin = getattr(spec, "origin", None)
    if getattr(spec, "loader", None) in (machinery.BuiltinImporter, machinery.FrozenImporter):
        return True
    library = "python%d.%d" % sys.version_info[:2]
    for prefix in (sys.base_prefix, sys.base_exec_prefix):
        home = os.path.join(prefix, getattr(sys, "platlibdir", "lib"), library, "")
        if isinstance(origin, str) and origin.startswith(home):
            return origin[len(home) :].partition(os.sep)[0] not in ("site-packages", "dist-packages")
    return False


def _digest(module: Any) -> str | None:
    """Of the source that a module was loaded from, as it is now."""
    try:
        with open(module.__spec__.origin, "rb", opener=never_waiting) as stream:
            content = stream.read(TEXT_LIMIT)
    except (OSError, AttributeError, TypeError):
        return None
    return hashlib.sha256(content).hexdigest()


def _holds_nothing_else(handles: set[int]) -> bool:
    """Whether the start left neither threads nor open files (sockets, locks), which no child would share."""
    try:
        tasks, open_ones = os.listdir("/proc/self/task"), {int(name) for name in os.listdir("/proc/self/fd")}
    except (OSError, ValueError):
        return False
    for handle in open_ones - handles - {0, 1, 2}:
        try:
            os.fstat(handle)
        except OSError:
            continue  # of the listing itself
        return False
    return len(tasks) == 1


def main(questions: BinaryIO, answers: int, started: float, answer: Answering) -> None:
    """Answers JSON requests, each with one line of JSON, until what was read at the start has changed."""
    world = _look_around(started, {questions.fileno(), answers})
    for number, question in enumerate(questions):
        request = json.loads(question.decode("ascii"))
        if number and not (world is not None and world.stands()):
            _write(answers, json.dumps({"outdated": True}) + "\n")
            return
        child = _fork() if world is not None and world.is_known else None
        if child is None:
            _write(answers, json.dumps(answer(request)) + "\n")
            return
        if child == 0:
            _answer_as_child(request, answers, answer)
        if os.waitpid(child, 0)[1]:
            sys.exit(1)
        _write(answers, "\n")  # by which the child is known to have ended


def _look_around(started: float, handles: set[int]) -> World | None:
    """None where that is not to be done: modules of a target may raise anything when they are looked at."""
    try:
        return World(started, handles)
    except Exception:
        return None


def _fork() -> int | None:
    """The child's pid, 0 in the child; None where the system has no room for one."""
    try:
        return os.fork()
    except OSError:
        return None


def _answer_as_child(request: dict[str, Any], answers: int, answer: Answering) -> NoReturn:
    """Answers as a process that has just started, and ends.

    It may be forked once more: it has one thread, and no open files that children would share.
    """
    status = 1
    try:
        sys.path_importer_cache.clear()  # what directories held at the start
        _write(answers, json.dumps(dict(answer(dict(request, may_fork=True)), kept=True)))
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        os._exit(status)


def _write(answers: int, text: str) -> None:
    content = text.encode("ascii")
    while content:
        content = content[os.write(answers, content) :]
