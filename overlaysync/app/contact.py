"""Contact with a target that was called: its interpreter and its distribution."""

from __future__ import annotations

import contextlib
import os
import time

from msgspec import structs

from overlaysync.app.calling import Call, Link
from overlaysync.app.early import Early
from overlaysync.app.installed_cache import InstalledCache
from overlaysync.app.options import Stage
from overlaysync.core.modules import choose
from overlaysync.errors import AgentLostError, LockedError, OverlaysyncError, TargetError, UsageError
from overlaysync.model.target import (
    UNKNOWN,
    Distribution,
    Interpreter,
    Inventory,
)
from overlaysync.remote.preparation import preparation

LOCK_SECONDS = 3.0


class Contact(Link, frozen=True):
    """An open conversation with the agent of one target, and what was found there."""

    interpreter: Interpreter
    distribution: Distribution
    asked: tuple[str, ...] = ()  # the paths of all interpreters that answered

    def open(self, object_format: str) -> Inventory:
        """Locks the install root and takes the inventory (see ``AgentSession.open``).

        Another run's lock is waited for, as long as a short run takes. Raises LockedError.
        """
        distribution, deadline = self.distribution, time.monotonic() + LOCK_SECONDS
        root = distribution.place or distribution.root
        packages = tuple(sorted(distribution.mapped)) if distribution.place is not None else ()
        known = self.known.get((root, object_format))
        if known is None:
            known = InstalledCache(self.cache, self.identity, root, object_format)
            self.known[root, object_format] = known
        while True:
            try:
                inventory = self.session.open(
                    root, distribution.metadata, self.name, object_format, known, packages=packages
                )
            except LockedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                known.keep()
                self._remember(root, known, packages)
                return inventory

    def _remember(self, root: str, known: InstalledCache, packages: tuple[str, ...]) -> None:
        """The next run of this command line begins with what this one found out."""
        prepare = preparation(
            self.asked,
            self.setting,
            root,
            self.distribution.metadata,
            self.name,
            known,
            packages=packages,
        )
        self.early.remember(self.identity.name, self.identity.image_id, prepare)

    def changed_at(self) -> float:
        """When a transaction last changed something here, whoever began it; asked without the lock."""
        return self.session.peek(self.distribution.place or self.distribution.root, self.name)

    def own_processes(self) -> tuple[int, ...]:
        """Processes of this run that the target sees too: only a local one shares them."""
        return (os.getpid(),) if self.identity.kind == "local" else ()


def contact(call: Call, stage: Stage, *, ahead: bool = True) -> Contact:
    """What is there. Raises ConfigError, UsageError, TargetError, AgentLostError.

    ``ahead``: the next time, the target may open the install root meanwhile, which takes its lock.
    """
    stage("contacting the target")
    opened = call.link()
    stage("finding the interpreter")
    return find(opened if ahead else without_preparation(opened))


def without_preparation(link: Link) -> Link:
    """The same for a run that opens the install root late: its lock is not to be held until then."""
    return structs.replace(link, early=Early())


def find(link: Link) -> Contact:
    """The interpreter and the distribution, as they are now. Raises TargetError, AgentLostError.

    ``link.early``: what is remembered from an earlier look is prepared meanwhile.
    """
    if link.early.preparation is not None:
        link.session.prepare(link.early.preparation)
    try:
        asked = _ask(link)
        found = _chosen(link.name, asked)
        _refuse_foreign(link, found)
    except AgentLostError:
        raise
    except OverlaysyncError:
        with contextlib.suppress(AgentLostError):
            link.session.release()  # what was opened meanwhile
        raise
    answered = tuple(item.path for item in asked if item.error is None)
    return Contact(
        **structs.asdict(link), interpreter=found, distribution=_distribution(found), asked=answered
    )


def _refuse_foreign(link: Link, found: Interpreter) -> None:
    """On this machine a named interpreter may be any environment's. Raises UsageError for another's."""
    if link.identity.kind != "local" or link.named_interpreter is None or found.prefix is None:
        return
    if resolved(found.prefix) != resolved(link.identity.name):
        raise UsageError(
            f"{found.path} is the Python of {found.prefix}, and the target is {link.identity.name}",
            f"name the environment that is meant: --container local:{found.prefix}",
        )


def resolved(path: str) -> str:
    """A path of a local target without links; as it was told, where that can be no path."""
    try:
        return os.path.realpath(path)
    except ValueError:
        return path


def _distribution(interpreter: Interpreter) -> Distribution:
    """The copy that is found first and has a RECORD; of two, no version tells which one the code is of."""
    copies = interpreter.distributions
    first = next((copy for copy in copies if copy.form == "dist-info"), copies[0])
    return structs.replace(first, version=UNKNOWN) if len(copies) > 1 else first


def _copies(interpreter: Interpreter) -> str:
    """The copies that an interpreter sees, in its order, and what it imports."""
    copies = [f"{item.root}/{item.metadata}" for item in interpreter.distributions]
    imported = [item.origin for item in interpreter.packages if item.origin is not None][:1]
    return "".join(
        f", {verb} {' and '.join(places)}"
        for verb, places in (("sees", copies), ("imports", imported))
        if places
    )


def _ask(link: Link) -> list[Interpreter]:
    """All interpreters that the workload could have, with what each says or why it does not."""
    session, name, setting, identity = link.session, link.name, link.setting, link.identity
    explicit = link.named_interpreter
    if identity.kind == "local" and explicit is None:
        explicit = session.hello.executable
    hints = [part for part in setting.command[:1] if part.startswith("/")]
    if explicit is None:
        running = session.processes(None, ()) or []
        hints += [process.launched_as for process in running if process.launched_as is not None]
    asked = session.interpreters(name, setting, interpreter=explicit, hints=hints)
    if any(item.error and "in time" not in item.error for item in asked):  # it may have ended by chance
        asked = session.interpreters(name, setting, interpreter=explicit, hints=hints)
    return asked


def _chosen(name: str, asked: list[Interpreter]) -> Interpreter:
    """The one interpreter that holds the distribution. Raises TargetError with all where it is not one."""
    holders = choose(asked)
    doubtful = [item for item in asked if item.error is not None and item.suspected]
    if len(holders) == 1 and not doubtful:
        return holders[0]
    if holders:
        listing = "; ".join(
            f"{item.path} ({item.error or item.version}, prefix {item.prefix}{_copies(item)})"
            for item in (*holders, *doubtful)
        )
        raise TargetError(
            f"several interpreters of the target hold {name}: {listing}",
            "name the workload's: --interpreter PATH",
            code="several-interpreters",
        )
    listing = "; ".join(f"{item.path} ({item.error or item.version})" for item in asked) or "none"
    unseen = sorted({item.suspected for item in asked if item.suspected is not None})
    lies = f"; {', '.join(unseen)} is where none of them looks" if unseen else ""
    raise TargetError(
        f"no interpreter of the target holds {name} (asked: {listing}){lies}",
        "name the installed project with --distribution NAME, or its interpreter with --interpreter PATH",
        code="not-installed",
    )
