"""Calls a target: configuration, transport, agent, in that order. Nothing is looked for there yet.

What it imports is little, so that the target is on its way while a use case is loaded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from overlaysync.app.early import Early, agent_bundle
from overlaysync.app.installed_cache import InstalledCache
from overlaysync.app.options import Options
from overlaysync.config.configuration import PackageConfiguration
from overlaysync.config.loading import load
from overlaysync.config.selection import LOCAL, on_this_machine, select
from overlaysync.core.image_identity import resolve
from overlaysync.core.names import canonical
from overlaysync.errors import TargetError, UsageError
from overlaysync.model.ahead import Ahead
from overlaysync.model.seams import Process, Transport
from overlaysync.model.target import Setting, TargetIdentity
from overlaysync.remote.connecting import connect
from overlaysync.remote.session import AgentSession
from overlaysync.targets.discovery import candidates
from overlaysync.targets.specification import open_target

if TYPE_CHECKING:
    from overlaysync.app.looking import Looking

MAXIMUM_INDEX = 4 << 20
"""Bytes of an image index: what registries take (OCI distribution specification)."""


class Link(Struct, frozen=True):
    """A conversation with the agent of a target, before anything was looked for there.

    ``early``: by what it is begun earlier the next time. ``known``: what is known of the files of its install
    roots, by root and format of object ids; ``cache``: where it is kept.
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
    early: Early
    known: dict[tuple[str, str], InstalledCache]
    cache: Path | None


class Call:
    """A conversation that begins while the caller does something else. A context manager.

    ``early``: what was begun in the target before; it is taken over, or ended.
    """

    def __init__(self, options: Options, early: Early | None = None) -> None:
        self.options = options
        self._early = early or Early()
        self._opened = ExitStack()
        self._turn = threading.Lock()
        self._given_up = False
        self._looking: Looking | None = None
        self._waiting_for: Process | None = None
        self._link = Ahead(self._begin)

    def link(self) -> Link:
        """Waits for it. Raises as ``link`` does."""
        return self._link.result()

    def looking(self) -> Looking:
        """The look at the options' worktree, which begins when this is called first."""
        if self._looking is None:
            from overlaysync.app.looking import Looking  # the target is on its way before git is asked

            self._looking = Looking(self.options)
        return self._looking

    def _begin(self) -> Link:
        with ExitStack() as opened:
            begun = opened.enter_context(link(self.options, self._started, self._early))
            with self._turn:
                self._waiting_for = None
                if not self._given_up:
                    self._opened = opened.pop_all()
            return begun

    def _started(self, process: Process) -> None:
        with self._turn:
            self._waiting_for = process
            if self._given_up:
                process.kill()

    def __enter__(self) -> Call:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """One that has not been answered yet is not waited for. Any thread may call it, and again."""
        with self._turn:
            self._given_up = True
            if self._waiting_for is not None:
                self._waiting_for.kill()
        with ExitStack() as closing:
            closing.callback(self._opened.close)
            if self._looking is not None:
                closing.callback(self._looking.close)
            closing.callback(self._early.begun.end)


def find_root(directory: Path) -> Path:
    """The nearest directory at or above that holds a ``.git``; the directory itself where none does."""
    start = directory.absolute()
    return next((place for place in (start, *start.parents) if (place / ".git").exists()), start)


@contextmanager
def link(
    options: Options, started: Callable[[Process], None] = lambda _: None, early: Early | None = None
) -> Iterator[Link]:
    """Opens the conversation, and closes it whatever happens.

    ``started``: see ``connect``. ``early``: see ``Call``.

    Raises ConfigError, UsageError, TargetError, AgentLostError.
    """
    root = find_root(options.worktree)
    configuration = load(root, options.config)
    package = select(configuration, options.distribution)
    name = _named(package)
    specification, found_by = options.container or configuration.target, None
    if specification is None:
        specification, found_by = _discover(root)
    package = on_this_machine(package) if specification.startswith(LOCAL) else package
    interpreter = options.interpreter or package.interpreter
    early, user = early or Early(), options.user or package.user
    transport = open_target(specification, interpreter=interpreter, user=user, begun=early.begun)
    cache = options.cache_directory()
    try:
        setting = _setting(transport, package)
        identity = Ahead(lambda: _identity(transport, options.image_index))
        with _connect(transport, cache, identity, started) as session, _written_at_last(session) as known:
            session.is_preparing = early.begun.was_taken
            yield Link(
                package=package,
                name=name,
                transport=transport,
                identity=identity.result(),
                setting=setting,
                session=session,
                named_interpreter=interpreter,
                found_by=found_by,
                early=early,
                known=known,
                cache=cache,
            )
    finally:
        transport.close()


@contextmanager
def _written_at_last(session: AgentSession) -> Iterator[dict[tuple[str, str], InstalledCache]]:
    """What is known of the target's files (``Link.known``), which is written while the agent ends."""
    known: dict[tuple[str, str], InstalledCache] = {}
    try:
        yield known
    finally:
        session.leave()
        for one in known.values():
            one.save()


def _connect(
    transport: Transport,
    cache: Path | None,
    identity: Ahead[TargetIdentity],
    started: Callable[[Process], None],
) -> AgentSession:
    """Where no agent starts, what the engine says of the target comes first."""
    try:
        return connect(transport, agent_bundle(cache), started=started)
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
