"""Finds the Pythons of the target and asks each what it would import."""

from __future__ import annotations

import os

from overlaysync.agent.failure import Failure
from overlaysync.agent.frames import to_text
from overlaysync.agent.inspection import Patience
from overlaysync.agent.inspections import Inspections
from overlaysync.agent.places import candidates, prefix_of, suspected
from overlaysync.agent.request import Request
from overlaysync.agent.setting import Setting

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _distrusted(path: bytes, setting: Setting) -> str | None:
    """Why a Python that was only found, not named, is not run: somebody else could make it do anything."""
    if os.geteuid() != 0:
        return None
    for place in (path, os.path.dirname(path), prefix_of(path)):
        owner = os.stat(place).st_uid
        if owner not in (0, setting.uid):
            return "belongs to uid %d, so it is not run as uid %d unless it is named" % (owner, setting.uid)
    return None


def prepare(request: Request, inspections: Inspections) -> None:
    """Begins to ask the interpreters that will most likely be asked."""
    setting = Setting(request)
    for path in request.paths("interpreters"):
        if os.path.exists(path) and not _distrusted(path, setting):
            inspections.begin_ahead(path, setting, _question(request))


def _question(request: Request) -> dict[str, Any]:
    return {"do": "survey", "distribution": request.text("distribution")}


def survey(
    request: Request, host: int, inspections: Inspections, meanwhile: Callable[[], object]
) -> list[dict[str, Any]]:
    """All Pythons that answer, each with the distribution copies that it sees.

    ``host``: the handle that requests come in by; nothing is waited for once there is something to read.
    ``meanwhile``: what is to be done while they start.
    """
    setting = Setting(request)
    explicit = request.optional_path("interpreter")
    hints = request.paths("hints")
    paths = [explicit] if explicit else candidates(setting.environment, setting.directory, hints)
    question = _question(request)
    patience = Patience(request.seconds("patience"), host)
    asked = []
    for path in paths:
        reason = None if explicit else _distrusted(path, setting)
        asked.append((path, reason, None if reason else inspections.begin(path, setting, question)))
    inspections.forget_ahead()
    meanwhile()
    rows = []
    for path, reason, inspection in asked:
        answer, error = inspections.finish(inspection, patience) if inspection else (None, reason)
        row: dict[str, Any] = {"real": to_text(os.path.realpath(path)), "prefix": to_text(prefix_of(path))}
        row.update(answer or {}, path=to_text(path), error=error)
        if not row.get("distributions"):
            row["suspected"] = suspected(
                prefix_of(path), request.text("distribution"), asked=answer is not None
            )
        rows.append(row)
    return rows


def read_back(request: Request, host: int, inspections: Inspections) -> dict[str, Any]:
    """Resolution of modules, and readability of files, by one interpreter.

    ``host``: as ``survey`` has it.
    """
    question = {
        "do": "read_back",
        "modules": [to_text(name) for name in request.paths("modules")],
        "files": [to_text(path) for path in request.paths("files")],
        "code": request.flag("code"),
    }
    path = request.path("interpreter")
    inspection = inspections.begin(path, Setting(request), question)
    answer, error = inspections.finish(inspection, Patience(request.seconds("patience"), host))
    if answer is None:
        raise Failure("interpreter", "%s cannot be asked what it imports: %s" % (os.fsdecode(path), error))
    return answer
