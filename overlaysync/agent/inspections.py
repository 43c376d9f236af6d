"""Interpreters of the target that may be asked again, and those that are asked before anybody waits.

One that is as if it were started anew (see ``template``) is kept; any other answers once.
"""

from __future__ import annotations

from overlaysync.agent.inspection import Inspection

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from typing import Any

    from overlaysync.agent.inspection import Answer, Patience
    from overlaysync.agent.setting import Setting

KEPT = 8


class Inspections:
    """The interpreters that may be asked again."""

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], Inspection] = {}
        self._asked: list[Inspection] = []
        self._ahead: dict[tuple[object, ...], Inspection] = {}

    def begin_ahead(self, path: bytes, setting: Setting, question: dict[str, Any]) -> None:
        """Asks what will most likely be asked for next."""
        if len(self._ahead) < KEPT and _key(path, setting) not in self._ahead:
            self._ahead[_key(path, setting)] = self._ask(path, setting, question)

    def forget_ahead(self) -> None:
        for inspection in self._ahead.values():
            inspection.end()
        self._ahead.clear()

    def _taken_ahead(self, path: bytes, setting: Setting, question: dict[str, Any]) -> Inspection | None:
        """The one that was asked already, where it is the same as one that would be asked now."""
        inspection = self._ahead.pop(_key(path, setting), None)
        if inspection is None or (inspection.question == question and inspection.is_at_its_place()):
            return inspection
        inspection.end()
        return None

    def begin(self, path: bytes, setting: Setting, question: dict[str, Any]) -> Inspection:
        """Asks one that is there, or a new one; ``finish`` has the answer."""
        inspection = self._taken_ahead(path, setting, question) or self._ask(path, setting, question)
        self._asked.append(inspection)
        return inspection

    def _ask(self, path: bytes, setting: Setting, question: dict[str, Any]) -> Inspection:
        inspection = self._kept.pop(_key(path, setting), None)
        if inspection is not None and inspection.would_start_alike():
            inspection.ask(question)
            return inspection
        if inspection is not None:
            inspection.end()
        return Inspection(path, setting, question)

    def finish(self, inspection: Inspection, patience: Patience) -> Answer:
        """(answer, None) or (None, what went wrong); nothing is left of a process that is not kept."""
        answer, error = inspection.finish(patience)
        self._asked.remove(inspection)
        path, setting = inspection.path, inspection.setting
        if inspection.asked > 1 and (answer is None or answer.get("outdated")):
            inspection.end()
            if patience.over():
                return None, "no answer in time"
            return self.finish(self.begin(path, setting, inspection.question), patience)
        can_be_kept = answer is not None and answer.pop("kept", False) and inspection.would_start_alike()
        if can_be_kept and len(self._kept) < KEPT and _key(path, setting) not in self._kept:
            self._kept[_key(path, setting)] = inspection
        else:
            inspection.end()
        return answer, error

    def groups(self) -> set[int]:
        """Process groups, each of one interpreter and what its start-up hooks left running."""
        there = (*self._asked, *self._kept.values(), *self._ahead.values())
        return {inspection.group for inspection in there if inspection.group is not None}

    def close(self) -> None:
        """Nothing is left of any, asked or kept."""
        self.forget_ahead()
        for inspection in (*self._asked, *self._kept.values()):
            inspection.end()
        self._asked.clear()
        self._kept.clear()


def _key(path: bytes, setting: Setting) -> tuple[object, ...]:
    return (path, *setting.facts)
