"""Target specifications: ``NAME``, ``docker:NAME``, ``compose:SERVICE``, ``local:PREFIX``."""

from __future__ import annotations

from collections.abc import Callable

from overlaysync.errors import UsageError
from overlaysync.model.seams import Transport
from overlaysync.targets.begun import Begun

LATER = ("podman", "ssh", "k8s", "slurm", "ray")
"""Kinds of the design that this version does not have yet."""


def open_target(
    specification: str, *, interpreter: str | None = None, user: str | None = None, begun: Begun | None = None
) -> Transport:
    """The transport for a specification; nothing is contacted yet. Raises UsageError, TargetError.

    ``begun``: a process that it may take over, where it would start the same.
    """
    kind, separator, name = specification.partition(":")
    if not separator:
        kind, name = "docker", specification
    if kind in LATER:
        raise UsageError(
            f"targets of kind {kind}: are not supported by this version",
            "use a container NAME, or local:PREFIX",
        )
    factory = _factories().get(kind)
    if factory is None or not name:
        raise UsageError(
            f"{specification!r} names no target",
            "write NAME, docker:NAME, compose:SERVICE or local:PREFIX",
            code="unknown-target",
        )
    return factory(name, interpreter, user, begun)


def _factories() -> dict[str, Callable[[str, str | None, str | None, Begun | None], Transport]]:
    from overlaysync.targets import discovery
    from overlaysync.targets.docker import DockerTransport
    from overlaysync.targets.local import LocalTransport

    return {
        "docker": lambda name, interpreter, user, begun: DockerTransport(
            name, interpreter=interpreter, user=user, begun=begun
        ),
        "compose": lambda name, interpreter, user, begun: DockerTransport(
            discovery.service(name), interpreter=interpreter, user=user, begun=begun
        ),
        "local": lambda prefix, interpreter, user, _: LocalTransport(
            prefix, interpreter=interpreter, user=user
        ),
    }
