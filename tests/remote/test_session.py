"""How long the host waits for an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from overlaysync.agent import frames
from overlaysync.model.target import Hello
from overlaysync.remote.channel import Channel
from overlaysync.remote.conversation import LONG, SHORT
from overlaysync.remote.session import AgentSession
from tests.remote.programs import ProgramTransport

ANSWERS = """
while True:
    asked = receive()
    if asked["do"] != "prepare":
        send(frame({"id": asked["id"], "ok": {"processes": []}}))
"""


class Counting(Channel):
    """Keeps the deadlines that it is given."""

    deadlines: list[float]

    def receive(self, timeout: float) -> tuple[dict[str, Any], bytes] | None:
        self.deadlines.append(timeout)
        return super().receive(timeout)


def test_what_is_asked_first_waits_for_the_preparation_too(tmp_path: Path) -> None:
    """It takes an inventory, which grows with the distribution; whoever is asked next has no such excuse."""
    channel = Counting(ProgramTransport(tmp_path, ANSWERS).start([]))
    channel.deadlines = []
    hello = Hello(protocol=1, python="3.8.0", executable="", pid=1, uid=0, gid=0, machine="x86_64")
    with AgentSession(channel, hello) as session:
        session.processes(None, [])
        session.prepare(frames.encode({"do": "prepare"}))
        for _ in range(2):
            session.processes(None, [])
    assert channel.deadlines == [SHORT, LONG, SHORT]
