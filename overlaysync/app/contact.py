"""Contact with a target that was called: its interpreter and its distribution."""

from __future__ import annotations

import os
import time

from msgspec import structs

from overlaysync.app.calling import Call, Link
from overlaysync.app.options import Stage
from overlaysync.app.remembered import Guess, Place, guess, installed_cache, remember
from overlaysync.core.modules import choose
from overlaysync.errors import LockedError, TargetError
from overlaysync.model.target import (
    UNKNOWN,
    Distribution,
    Interpreter,
    Inventory,
)
from overlaysync.remote.session import Opening, opening

LOCK_SECONDS = 3.0


class Contact(Link, frozen=True):
    """An open conversation with the agent of one target, and what was found there."""

    interpreter: Interpreter
    distribution: Distribution
    guess: Guess | None = None  # what the target has opened already, if it was right

    def open(self, object_format: str) -> Inventory:
        """Locks the install root and takes the inventory (see ``AgentSession.open``).

        Another run's lock is waited for, as long as a short run takes. Raises LockedError.
        """
        distribution, deadline = self.distribution, time.monotonic() + LOCK_SECONDS
        root = distribution.place or distribution.root
        packages = tuple(sorted(distribution.mapped)) if distribution.place is not None else ()
        place = Place(root, distribution.metadata, packages, object_format)
        if self.guess is not None and self.guess.place == place:
            known = self.guess.known
        else:
            known = installed_cache(self, root, object_format)
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
                known.save()
                if self.guess is None or self.guess.place != place:
                    remember(self, place)
                return inventory

    def own_processes(self) -> tuple[int, ...]:
        """Processes of this run that the target sees too: only a local one shares them."""
        return (os.getpid(),) if self.identity.kind == "local" else ()


def contact(call: Call, stage: Stage, *, ahead: bool = True) -> Contact:
    """What is there. Raises ConfigError, UsageError, TargetError, AgentLostError.

    ``ahead``: the target opens the install root meanwhile, and takes its lock, for who opens it next.
    """
    stage("contacting the target")
    opened = call.link()
    stage("finding the interpreter")
    return find(opened, guess(opened) if ahead else None)


def find(link: Link, guess: Guess | None = None) -> Contact:
    """The interpreter and the distribution, as they are now. Raises TargetError, AgentLostError.

    ``guess``: what the target opens meanwhile (see ``AgentSession.interpreters``).
    """
    ahead = None
    if guess is not None:
        place = guess.place
        ahead = opening(place.root, place.metadata, link.name, guess.known, place.packages)
    found = _interpreter(link, ahead)
    return Contact(**structs.asdict(link), interpreter=found, distribution=_distribution(found), guess=guess)


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


def _interpreter(link: Link, ahead: Opening | None) -> Interpreter:
    """The one interpreter that holds the distribution; the list of all asked where it is not one."""
    session, name, setting, identity = link.session, link.name, link.setting, link.identity
    explicit = link.named_interpreter
    if identity.kind == "local" and explicit is None:
        explicit = session.hello.executable
    hints = [part for part in setting.command[:1] if part.startswith("/")]
    if explicit is None:
        running = session.processes(None, ()) or []
        hints += [process.launched_as for process in running if process.launched_as is not None]
    asked = session.interpreters(name, setting, interpreter=explicit, hints=hints, ahead=ahead)
    if any(item.error and "in time" not in item.error for item in asked):  # it may have ended by chance
        asked = session.interpreters(name, setting, interpreter=explicit, hints=hints)
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
