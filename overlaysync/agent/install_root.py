"""The install root that one conversation has open: its lock, its inventory, a transaction in it.

It is loaded while the first interpreter of the target starts.
"""

from __future__ import annotations

import os
import time

from overlaysync.agent import bytecode, inventory, settle
from overlaysync.agent.area import Area
from overlaysync.agent.cores import in_parts
from overlaysync.agent.failure import Failure, reason
from overlaysync.agent.frames import to_text
from overlaysync.agent.look import look
from overlaysync.agent.request import Request
from overlaysync.agent.transaction import Staging, Transaction
from overlaysync.agent.tree import Tree

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Answer = dict[str, Any]

OBJECT_FORMATS = ("sha1", "sha256")
WORTH_A_CORE = 100
"""So many files take longer to hash than a process takes to start."""


class InstallRoot:
    """One method per request. They raise as those of ``Session`` do."""

    def __init__(self) -> None:
        self.area: Area | None = None
        self.transaction: Transaction | None = None
        self.staging: Staging | None = None
        self._ahead: tuple[Request, Answer] | None = None
        self.failure: Failure | None = None  # the first trouble while pieces came in; told by ``apply``
        self.requests: dict[str, Callable[[Request], Answer]] = {
            "open": self.open,
            "release": self.release,
            "glance": self.glance,
            "peek": self.peek,
            "look": self.look,
            "begin": self.begin,
            "apply": self.apply,
            "write_record": self.write_record,
            "record": self.record,
            "roll_back": self.roll_back,
        }

    def close(self) -> None:
        """Rolls back what was not recorded and lets go of everything."""
        try:
            if self.transaction is not None:
                self._end_transaction()
        finally:
            self._ahead = None
            self.transaction = None  # what is not settled, the next contact settles
            if self.area is not None:
                self.area.tree.close()
                self.area = None

    # -- reading ---------------------------------------------------------------------------------------

    def open_ahead(self, request: Request) -> None:
        """Opens what will most likely be asked for next; trouble is found, and told, when it is.

        What was interrupted is left for then too: nothing is written in a root that is only guessed.
        """
        try:
            self._ahead = (request, self._open(request, ahead=True))
        except (Failure, OSError):
            self.close()

    def open(self, request: Request) -> Answer:
        """Opens the install root under the lock, settles what was interrupted, takes the inventory."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0].asks_the_same(request):
            return ahead[1]
        return self._open(request)

    def _open(self, request: Request, *, ahead: bool = False) -> Answer:
        self.close()
        metadata = request.path("metadata")
        tree = Tree(os.path.realpath(request.path("root")))
        try:
            area = Area(tree, request.text("distribution"))
            area.lock()
            if ahead and not area.is_settled():
                raise Failure("usage", "there is something to settle")
            area.check()
            recovered = None if ahead else settle.recover(area)
            answer = inventory.take(tree, metadata, request.paths("packages"), request.mapping("known"))
            answer.update(
                root=to_text(tree.root),
                metadata=to_text(metadata),
                manifest=area.read(area.manifest)[0],
                changed_at=area.changed_at(),
                recovered=recovered,
            )
        except BaseException:
            tree.close()
            raise
        self.area = area
        return answer

    def release(self, _request: Request) -> Answer:
        """Lets go of the install root, and of its lock; tells what ``peek`` would have told until then."""
        changed_at = self.area.changed_at() if self.area is not None else None
        self.close()
        return {"changed_at": changed_at}

    @staticmethod
    def glance(request: Request) -> Answer:
        """The overlay's record and some files, without the lock: somebody else may be at work there."""
        object_format = _object_format(request)
        tree = Tree(os.path.realpath(request.path("root")))
        try:
            area = Area(tree, request.text("distribution"))
            files = [look(tree, path, object_format) for path in request.paths("paths")]
            return {"manifest": area.read(area.manifest)[0], "files": files}
        finally:
            tree.close()

    @staticmethod
    def peek(request: Request) -> Answer:
        """When a transaction last ended or began, without the lock: it costs next to nothing."""
        tree = Tree(os.path.realpath(request.path("root")))
        try:
            return {"changed_at": Area(tree, request.text("distribution")).changed_at()}
        finally:
            tree.close()

    def look(self, request: Request) -> Answer:
        tree, object_format = self._opened().tree, _object_format(request)
        tree.refresh()
        suffixes, writable = request.paths("suffixes"), request.flag("writable")

        def rows(part: Sequence[bytes]) -> list[Answer]:
            return [look(tree, path, object_format, suffixes, writable) for path in part]

        return {"began": time.time_ns(), "files": in_parts(request.paths("paths"), WORTH_A_CORE, rows)}

    # -- writing ---------------------------------------------------------------------------------------

    def begin(self, request: Request) -> Answer:
        area = self._opened()
        if self.transaction is not None:
            raise Failure("usage", "there is a transaction already")
        area.tree.refresh()
        self.failure = None
        journal = {"id": request.text("identity"), "operations": request.rows("operations")}
        try:
            self.transaction = Transaction(area, journal, request.paths("removable"))
        except ValueError as error:
            raise Failure("usage", "the transaction is not to be carried out: %s" % error)
        try:
            self.transaction.begin()
        except OSError as error:
            raise Failure("write", "no transaction can be begun in the install root: %s" % reason(error))
        return {}

    def piece(self, request: Request, body: bytes) -> None:
        """A piece of one operation's new content; trouble is answered by ``apply``."""
        if self.failure is not None:
            return
        path = None
        try:
            number, last = request.number("number"), request.flag("last")
            transaction = self._under_way()
            if not 0 <= number < len(transaction.steps):
                raise Failure("usage", "there is no operation %d" % number)
            step = transaction.steps[number]
            path = to_text(step.path)
            if self.staging is None:
                self.staging = Staging(transaction, step)
            if self.staging.step is not step:
                raise Failure("usage", "its content came in the middle of another's", path)
            self.staging.write(body)
            if last:
                staging, self.staging = self.staging, None
                staging.finish()
        except Failure as failure:
            self.failure = failure
        except OSError as error:
            self.failure = Failure("write", reason(error), path)

    def apply(self, request: Request) -> Answer:
        transaction = self._under_way()
        if self.failure is not None:
            raise self.failure
        prefixes, search_path = request.paths("pycache_prefixes"), request.paths("search_path")
        transaction.tree.refresh()
        try:
            transaction.apply()
            self._drop_prefixed(transaction, prefixes, search_path)
        except OSError as error:
            raise Failure("write", reason(error))
        transaction.applied = True
        return {"dropped": transaction.dropped, "made": [to_text(path) for path in transaction.made]}

    @staticmethod
    def _drop_prefixed(transaction: Transaction, prefixes: list[bytes], search_path: list[bytes]) -> None:
        root = transaction.tree.root
        spellings = {root, *(entry for entry in search_path if entry and os.path.realpath(entry) == root)}
        paths = [step.path for step in transaction.steps]
        for prefix in prefixes:
            for path, removed in bytecode.drop_prefixed(prefix, sorted(spellings), paths).items():
                rows = {to_text(item): validation for item, validation in removed.items()}
                transaction.dropped.setdefault(to_text(path), {}).update(rows)

    def write_record(self, request: Request) -> Answer:
        transaction = self._under_way()
        if not transaction.applied:
            raise Failure("usage", "only an applied transaction can be recorded")
        transaction.tree.refresh()
        try:
            settle.write_record(transaction, request.optional_text("manifest"))
        except OSError as error:
            raise Failure("write", "the overlay cannot be recorded: %s" % reason(error))
        return {}

    def record(self, request: Request) -> Answer:
        transaction = self._under_way()
        name = transaction.unnamed_record
        if name is None:
            raise Failure("usage", "there is no record yet")
        expected = request.digests("expected")
        transaction.tree.refresh()
        try:
            settle.record(transaction, name, expected)
        except Failure:
            self.transaction = None  # it was settled, or the next contact does it
            raise
        self.transaction = None
        return {}

    def roll_back(self, _request: Request) -> Answer:
        if self.area is not None:
            self.area.tree.refresh()
            self._end_transaction()
        return {}

    def _end_transaction(self) -> None:
        """By what lies on the disk, not by what this process believes to have done."""
        if self.staging is not None:
            self.staging.close()
            self.staging = None
        settle.settle(self._opened())
        self.transaction = None

    def _opened(self) -> Area:
        if self.area is None:
            raise Failure("usage", "no install root is open")
        return self.area

    def _under_way(self) -> Transaction:
        if self.transaction is None:
            raise Failure("usage", "no transaction is under way")
        return self.transaction


def _object_format(request: Request) -> str:
    name = request.text("object_format")
    if name not in OBJECT_FORMATS:
        raise Failure("usage", "git has no object format %.100r" % name)
    return name
