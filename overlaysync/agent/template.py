"""Keeps an interpreter of the target as it is right after its start: a child answers each question.

So that no question is answered by a process in which another one left traces, nor by one that has read what a
process started now would read otherwise. Where that cannot be known, one question is answered, and no more.
Question and answer go through inherited handles: what start-up hooks read or print does no harm.
"""

from __future__ import annotations

import sys

_first = sys.path[:1] if sys.path[:1] == [""] else []
del sys.path[: len(_first)]  # a json.py in the working directory must not be ours
import hashlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import site  # noqa: E402

sys.path[:0] = _first

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO

    Answering = Callable[[dict[str, Any]], dict[str, Any]]

RACY = 5.0
"""Seconds in which a file may have changed again after this process read it, and before it was looked at."""
KNOWN_FINDERS = {"_frozen_importlib", "_frozen_importlib_external", "zipimport"}
"""Modules of finders that read nothing but what is looked at here; those of known hooks come on top."""
KNOWN_LINES = {
    # of setuptools, in distutils-precedence.pth
    "import os; var = 'SETUPTOOLS_USE_DISTUTILS'; enabled = os.environ.get(var, 'local') == 'local'; "
    "enabled and __import__('_distutils_hack').add_shim();": "_distutils_hack",
    "import _virtualenv": "_virtualenv",  # of virtualenv and uv
}
"""Lines of ``.pth`` files that run code which reads nothing, with the module of the finder that they add."""
KNOWN_CUSTOMISING = "43d81125d92376b1a69d53a71126a041cc9a18d8080e92dea0a2ae23be138b1e"
"""SHA-256 of the ``sitecustomize.py`` that every Python of Debian has: it installs a reporter of crashes."""
TEXT_LIMIT = 1 << 20


class World:
    """All that this process read when it started: while it stands, a new process would be as this one.

    ``started``: before it was started, in seconds since the epoch. ``handles``: its own.
    """

    def __init__(self, started: float, handles: set[int]) -> None:
        places = {entry for entry in sys.path if isinstance(entry, str) and entry}
        places.update(getattr(site, "getsitepackages", list)(), filter(None, [site.USER_SITE]))
        files = {path for directory in places for path in _pth_files(directory)}
        lines = {line.rstrip() for path in files for line in (_text(path) or "").splitlines()}
        code = {line for line in lines if line.startswith(("import ", "import\t"))}
        paths = places | files | {path for file in files for path in _named(file)}
        paths.update(path for module in list(sys.modules.values()) for path in _of_module(module))
        paths |= {sys.executable, os.path.join(sys.prefix, "pyvenv.cfg")}
        paths.add(os.path.join(os.path.dirname(sys.executable), "pyvenv.cfg"))
        self._stamps = {place: _stamp(place) for path in paths if path for place in _there(path)}
        newest = max((max(stamp[2:4]) for stamp in self._stamps.values() if stamp), default=0)
        finders = {getattr(finder, "__module__", "") for finder in (*sys.meta_path, *sys.path_hooks)}
        self.is_known = (
            newest < (started - RACY) * 1e9
            and code <= KNOWN_LINES.keys()
            and finders <= KNOWN_FINDERS.union(KNOWN_LINES.values())
            and _is_customised_by_none()
            and _holds_nothing_else(handles)
        )

    def stands(self) -> bool:
        return all(_stamp(path) == stamp for path, stamp in self._stamps.items())


def _pth_files(directory: str) -> list[str]:
    try:
        return [os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".pth")]
    except OSError:
        return []


def _named(file: str) -> list[str]:
    """What the lines of a ``.pth`` file name, which need not be there."""
    lines = [line.rstrip() for line in (_text(file) or "").splitlines()]
    return [os.path.join(os.path.dirname(file), line) for line in lines if line and line[:6] != "import"]


def _of_module(module: Any) -> list[str]:
    """Where a module that was imported at the start comes from, and where others of its package would."""
    cached = getattr(getattr(module, "__spec__", None), "cached", None)
    try:
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


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace", opener=_never_waiting) as stream:
            return stream.read(TEXT_LIMIT)
    except OSError:
        return None


def _never_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a FIFO would wait for its writer


def _is_customised_by_none() -> bool:
    """Whether no code of this installation's own ran at the start, which could have read anything."""
    if "usercustomize" in sys.modules:
        return False
    custom = sys.modules.get("sitecustomize")
    text = "" if custom is None else _text(getattr(custom, "__file__", None) or "") or ""
    return custom is None or hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() == KNOWN_CUSTOMISING


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
    world = World(started, {questions.fileno(), answers})
    for number, question in enumerate(questions):
        request = json.loads(question.decode("ascii"))
        if number and not world.stands():
            _write(answers, json.dumps({"outdated": True}) + "\n")
            return
        if not world.is_known:
            _write(answers, json.dumps(answer(request)) + "\n")
            return
        if not _answered_by_child(request, answers, answer):
            sys.exit(1)
        _write(answers, "\n")  # by which the child is known to have ended


def _answered_by_child(request: dict[str, Any], answers: int, answer: Answering) -> bool:
    """Whether a child, which is as this process was when it had started, could answer."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    status = 1
    try:
        sys.path_importer_cache.clear()  # what directories held at the start
        _write(answers, json.dumps(dict(answer(request), kept=True)))
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
