"""Requests to an agent and its replies, one after the other."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from overlaysync import errors
from overlaysync.agent import frames
from overlaysync.remote.answers import NOT_OURS, failure_of, typed
from overlaysync.remote.channel import AGAIN, Channel

SHORT, LONG = 180.0, 900.0  # seconds; the long one for what grows with the size of the distribution


class Conversation:
    """One request at a time over one channel; who is done with it says goodbye."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._requests = 0
        self._has_left = False
        self.is_preparing = False  # what was asked first is answered after that

    def leave(self) -> None:
        """Says goodbye, and does not wait for the agent to end; may be called again."""
        if self._has_left:
            return
        self._has_left = True
        with contextlib.suppress(errors.AgentLostError):
            self._channel.send(frames.encode({"do": "bye"}), 1.0)

    def close(self) -> None:
        """Says goodbye; may be called again."""
        self.leave()
        self._channel.close()

    def abort(self) -> None:
        """Ends the conversation at once, for a far side that is known to be gone; any thread may call it."""
        self._channel.process.kill()

    def prepare(self, preparation: bytes) -> None:
        """Has the agent begin what will be asked of it (see ``remote.preparation``), and does not wait."""
        self.is_preparing = True
        self._channel.send(preparation, SHORT)

    def _ask(self, name: str, timeout: float, **fields: Any) -> dict[str, Any]:
        self._requests += 1
        try:
            json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogateescape")
            request = frames.encode({"do": name, "id": self._requests, **fields})
        except UnicodeEncodeError as error:
            raise errors.AgentLostError("the target named what is no name", NOT_OURS) from error
        except frames.FrameError as error:
            raise errors.TargetError(f"the request {name} cannot be sent: {error}") from error
        if self.is_preparing:
            timeout, self.is_preparing = max(timeout, LONG), False
        self._channel.send(request, timeout)
        try:
            frame = self._channel.receive(timeout)
        except frames.FrameError as error:
            raise errors.AgentLostError(
                f"the target's answer is not the agent's: {error}", NOT_OURS
            ) from error
        if frame is None:
            reason = self._channel.complaint.splitlines()[-1:] or ["no reason given"]
            raise errors.AgentLostError(
                f"the agent in the target ended before it answered: {reason[0]}", AGAIN
            )
        reply, _ = frame
        if reply.get("id") != self._requests:
            raise errors.AgentLostError("the target's answer is to another request", NOT_OURS)
        if "error" in reply:
            raise failure_of(reply["error"])
        answer: dict[str, Any] = typed(reply.get("ok"), dict[str, Any])
        return answer
