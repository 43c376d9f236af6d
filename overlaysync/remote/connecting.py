"""Starts the agent in a target, and waits for its greeting."""

from __future__ import annotations

from collections.abc import Callable

from overlaysync import errors
from overlaysync.agent import frames
from overlaysync.model.seams import Process, Transport
from overlaysync.model.target import Hello
from overlaysync.remote import bootstrap
from overlaysync.remote.answers import typed
from overlaysync.remote.channel import Channel
from overlaysync.remote.session import AgentSession

GREETING_SECONDS = 60.0
TOO_OLD = "python-too-old"


def connect(
    transport: Transport,
    bundle: bytes | None = None,
    *,
    idle_limit: float = bootstrap.IDLE_SECONDS,
    started: Callable[[Process], None] = lambda _: None,
) -> AgentSession:
    """Starts the agent with the first Python of the target that answers. Raises TargetError.

    Args:
        bundle: the agent's modules, where they are at hand; requests that need no reply may follow.
        idle_limit: seconds without a request after which the agent rolls back and ends by itself.
        started: is told of each process that a greeting is waited for from.
    """
    found: list[errors.OverlaysyncError] = []
    first = bootstrap.bundle() if bundle is None else bundle
    for program in transport.interpreters():
        channel = Channel(transport.start([program, *bootstrap.arguments(idle_limit)], first))
        try:
            started(channel.process)
            channel.send(channel.process.unsent, GREETING_SECONDS)
            return AgentSession(channel, _greeting(channel))
        except (errors.AgentLostError, frames.FrameError) as error:
            trouble = _explain(transport, channel)
            if not isinstance(trouble, errors.NoInterpreterError):
                raise trouble from error
            found.append(trouble)
        except BaseException:
            channel.close()
            raise
    too_old = [error for error in found if error.code == TOO_OLD]
    raise (too_old or found or [errors.TargetError("the target names no Python to start")])[0]


def _greeting(channel: Channel) -> Hello:
    frame = channel.receive(GREETING_SECONDS)
    if frame is None:
        raise errors.AgentLostError("the agent did not start")
    hello: Hello = typed(frame[0], Hello)
    if hello.protocol != frames.PROTOCOL:
        raise errors.AgentLostError(f"the agent speaks protocol {hello.protocol}, not {frames.PROTOCOL}")
    return hello


def _explain(transport: Transport, channel: Channel) -> errors.OverlaysyncError:
    """Why no greeting came; ends the channel. Engines tell it on either stream."""
    exit_code = channel.close()
    said = channel.said.decode("utf-8", "replace")
    if not said.startswith(bootstrap.OLD_PYTHON):
        return transport.explain(exit_code, "\n".join(filter(None, (said.strip(), channel.complaint))))
    version, _, path = said[len(bootstrap.OLD_PYTHON) :].strip().partition(" ")
    return errors.NoInterpreterError(
        f"{path} is Python {version}; the agent needs 3.8 or newer",
        "name a newer Python of the target with --interpreter PATH",
        code=TOO_OLD,
    )
