"""Contact with a target: configuration, transport, agent, interpreter, distribution, in that order."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, structs

from overlaysync.app.installed_cache import InstalledCache
from overlaysync.app.options import Options, Stage
from overlaysync.config.configuration import PackageConfiguration
from overlaysync.config.loading import load
from overlaysync.config.selection import LOCAL, on_this_machine, select
from overlaysync.core.image_identity import resolve
from overlaysync.core.modules import choose
from overlaysync.core.names import canonical
from overlaysync.errors import LockedError, TargetError, UsageError
from overlaysync.model.ahead import Ahead
from overlaysync.model.seams import Transport
from overlaysync.model.target import (
    UNKNOWN,
    Distribution,
    Interpreter,
    Inventory,
    Setting,
    TargetIdentity,
)
from overlaysync.remote.session import AgentSession, connect
from overlaysync.state.directories import cache_directory
from overlaysync.targets.discovery import candidates
from overlaysync.targets.specification import open_target

LOCK_SECONDS = 3.0
MAXIMUM_INDEX = 4 << 20
"""Bytes of an image index: what registries take (OCI distribution specification)."""


class Link(Struct, frozen=True):
    """A conversation with the agent of a target, before anything was looked for there.

    ``named_interpreter``: the one that the command line or the configuration names.
    """

    package: PackageConfiguration
    name: str  # the distribution's name, normalised (PEP 503)
    transport: Transport
    identity: TargetIdentity
    setting: Setting
    session: AgentSession
    named_interpreter: str | None
    found_by: str | None  # why this target, where nobody named it


class Contact(Link, frozen=True):
    """An open conversation with the agent of one target, and what was found there."""

    interpreter: Interpreter
    distribution: Distribution

    def open(self, object_format: str) -> Inventory:
        """Locks the install root and takes the inventory (see ``AgentSession.open``).

        Another run's lock is waited for, as long as a short run takes. Raises LockedError.
        """
        distribution, deadline = self.distribution, time.monotonic() + LOCK_SECONDS
        root = distribution.place or distribution.root
        known = InstalledCache(cache_directory(), self.identity, root, object_format)
        while True:
            try:
                inventory = self.session.open(
                    root,
                    distribution.metadata,
                    self.name,
                    object_format,
                    known,
                    packages=sorted(distribution.mapped) if distribution.place is not None else (),
                )
            except LockedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                known.save()
                return inventory

    def own_processes(self) -> tuple[int, ...]:
        """Processes of this run that the target sees too: only a local one shares them."""
        return (os.getpid(),) if self.identity.kind == "local" else ()


def find_root(directory: Path) -> Path:
    """The nearest directory at or above that holds a ``.git``; the directory itself where none does."""
    start = directory.absolute()
    return next((place for place in (start, *start.parents) if (place / ".git").exists()), start)


@contextmanager
def contact(options: Options, stage: Stage) -> Iterator[Contact]:
    """Opens everything, and closes it whatever happens.

    Raises ConfigError, UsageError, TargetError, AgentLostError.
    """
    with link(options, stage) as opened:
        stage("finding the interpreter")
        yield find(opened)


def find(link: Link) -> Contact:
    """The interpreter and the distribution, as they are now. Raises TargetError, AgentLostError."""
    found = _interpreter(link.session, link.name, link.setting, link.named_interpreter, link.identity)
    return Contact(**structs.asdict(link), interpreter=found, distribution=_distribution(found))


@contextmanager
def link(options: Options, stage: Stage) -> Iterator[Link]:
    """Opens the conversation, and closes it whatever happens. Raises as ``contact`` does."""
    configuration = load(find_root(options.worktree), options.config)
    package = select(configuration, options.distribution)
    name = _named(package)
    specification, found_by = options.container or configuration.target, None
    if specification is None:
        specification, found_by = _discover(find_root(options.worktree))
    package = on_this_machine(package) if specification.startswith(LOCAL) else package
    interpreter = options.interpreter or package.interpreter
    transport = open_target(specification, interpreter=interpreter, user=options.user or package.user)
    try:
        stage("contacting the target")
        setting = _setting(transport, package)
        identity = Ahead(lambda: _identity(transport, options.image_index))
        with _connect(transport, identity) as session:
            yield Link(
                package=package,
                name=name,
                transport=transport,
                identity=identity.result(),
                setting=setting,
                session=session,
                named_interpreter=interpreter,
                found_by=found_by,
            )
    finally:
        transport.close()


def _connect(transport: Transport, identity: Ahead[TargetIdentity]) -> AgentSession:
    """Where no agent starts, what the engine says of the target comes first."""
    try:
        return connect(transport)
    except TargetError:
        identity.result()
        raise


def _discover(root: Path) -> tuple[str, str]:
    """The container whose labels name the worktree, and why it. Raises UsageError where it is not one."""
    found = candidates(root)
    if len(found) == 1:
        return f"docker:{found[0].name}", found[0].why
    if found:
        listing = "; ".join(f"{item.name} ({item.why})" for item in found)
        raise UsageError(
            f"no target is named, and several containers belong to this worktree: {listing}",
            "name one: --container NAME",
            code="no-target",
        )
    idle = "; its dev container is not running" if (root / ".devcontainer").exists() else ""
    raise UsageError(
        f"no target is named{idle}", "name one: --container NAME (docker ps lists them)", code="no-target"
    )


def _distribution(interpreter: Interpreter) -> Distribution:
    """The copy that is found first and has a RECORD; of two, no version tells which one the code is of."""
    copies = interpreter.distributions
    first = next((copy for copy in copies if copy.form == "dist-info"), copies[0])
    return structs.replace(first, version=UNKNOWN) if len(copies) > 1 else first


def _named(package: PackageConfiguration) -> str:
    if package.distribution is None:
        raise UsageError(
            "no distribution is named, and the repository's own metadata names none",
            "name the installed project: --distribution NAME",
        )
    return canonical(package.distribution)


def _identity(transport: Transport, image_index: Path | None) -> TargetIdentity:
    identity = transport.describe()
    if image_index is None:
        return identity
    try:
        with image_index.open("rb") as file:
            document = file.read(MAXIMUM_INDEX)
    except OSError as error:
        raise UsageError(
            f"the image index {str(image_index)!r} cannot be read: {error.strerror}",
            "name a file: --image-index FILE",
        ) from error
    return resolve(identity, document)


def _copies(interpreter: Interpreter) -> str:
    """The copies that an interpreter sees, in its order, and what it imports."""
    copies = [f"{item.root}/{item.metadata}" for item in interpreter.distributions]
    imported = [item.origin for item in interpreter.packages if item.origin is not None][:1]
    return "".join(
        f", {verb} {' and '.join(places)}"
        for verb, places in (("sees", copies), ("imports", imported))
        if places
    )


def _setting(transport: Transport, package: PackageConfiguration) -> Setting:
    setting = transport.setting()
    if package.working_directory is None:
        return setting
    return Setting(
        user=setting.user,
        environment=setting.environment,
        working_directory=package.working_directory,
        command=setting.command,
    )


def _interpreter(
    session: AgentSession, name: str, setting: Setting, explicit: str | None, identity: TargetIdentity
) -> Interpreter:
    """The one interpreter that holds the distribution; the list of all asked where it is not one."""
    if identity.kind == "local" and explicit is None:
        explicit = session.hello.executable
    hints = [part for part in setting.command[:1] if part.startswith("/")]
    if explicit is None:
        running = session.processes(None, ()) or []
        hints += [process.launched_as for process in running if process.launched_as is not None]
    asked = session.interpreters(name, setting, interpreter=explicit, hints=hints)
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
