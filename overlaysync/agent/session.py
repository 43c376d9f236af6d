"""What one conversation can be asked. One method per request."""

from __future__ import annotations

import os
import stat

from overlaysync.agent import interpreters, processes
from overlaysync.agent.inspections import Inspections
from overlaysync.agent.request import Request

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from overlaysync.agent.install_root import InstallRoot

    Answer = dict[str, Any]

EVIDENCE_LIMIT = 4096


class Session:
    """Requests raise Failure for what the host can explain, OSError for what the system refuses.

    ``host``: the handle that requests come in by.
    """

    def __init__(self, host: int) -> None:
        self._host = host
        self._inspections = Inspections()
        self._loaded: InstallRoot | None = None
        self._own = {
            "interpreters": self.interpreters,
            "processes": self.processes,
            "read": self.read,
            "read_back": self.read_back,
        }

    def handler(self, name: object) -> Callable[[Request], Answer] | None:
        """What answers a request of this name."""
        if not isinstance(name, str):
            return None
        return self._own.get(name) or self._root().requests.get(name)

    def piece(self, request: Request, body: bytes) -> None:
        """A piece of one operation's new content; trouble is answered by ``apply``."""
        self._root().piece(request, body)

    def prepare(self, request: Request) -> None:
        """Begins what will most likely be asked for next; trouble with it is told when it is."""
        try:
            interpreters.prepare(request, self._inspections)
            self._root().open_ahead(request.part("opening"))
        except Exception:
            self._inspections.forget_ahead()
            self._root().close()

    def end(self) -> None:
        """The conversation is over: what was not recorded is rolled back, and nothing goes on."""
        try:
            if self._loaded is not None:
                self._loaded.close()
        finally:
            self._inspections.close()

    def _root(self) -> InstallRoot:
        from overlaysync.agent.install_root import InstallRoot  # most of the agent, and not needed to greet

        if self._loaded is None:
            self._loaded = InstallRoot()
        return self._loaded

    # -- requests --------------------------------------------------------------------------------------

    def interpreters(self, request: Request) -> Answer:
        return {"interpreters": interpreters.survey(request, self._host, self._inspections, self._root)}

    def processes(self, request: Request) -> Answer:
        return {"processes": processes.survey(request, self._inspections.groups())}

    def read(self, request: Request) -> Answer:
        """A small regular file named by the configuration, as evidence."""
        try:
            file = os.open(request.path("path"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(file, "rb") as stream:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    return {"text": None}
                return {"text": stream.read(EVIDENCE_LIMIT).decode("utf-8", "replace")}
        except OSError:
            return {"text": None}

    def read_back(self, request: Request) -> Answer:
        return interpreters.read_back(request, self._host, self._inspections)
