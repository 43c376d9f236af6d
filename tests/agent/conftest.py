"""Sessions with the real agent, a child process under a real Python of this machine."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from overlaysync.remote.bootstrap import bundle
from overlaysync.remote.connecting import connect
from overlaysync.remote.session import AgentSession
from overlaysync.targets.local import LocalTransport
from tests.agent.vocabulary import Site
from tests.parts.interpreters import installed_interpreters, running_interpreter

Start = Callable[..., AgentSession]


def supported() -> dict[str, Path]:
    """Every Python of this machine that the agent must run under, the oldest first."""
    found = {
        version: path
        for version, path in installed_interpreters().items()
        if int(version.partition(".")[2]) >= 8
    }
    own = running_interpreter()
    found.setdefault(own.version, own.executable)
    return dict(sorted(found.items(), key=lambda item: int(item[0].partition(".")[2])))


def old_interpreter(version: str) -> Path:
    """A Python of this machine that is older than the agent can use; skips where there is none."""
    home = pwd.getpwuid(os.getuid()).pw_dir  # HOME is a test's own
    pyenv = Path(os.environ.get("PYENV_ROOT", Path(home, ".pyenv")))
    found = [*pyenv.glob(f"versions/{version}.*/bin/python{version}"), Path(f"/usr/bin/python{version}")]
    if not found[0].exists():
        pytest.skip(f"no Python {version} on this machine")
    return found[0]


@pytest.fixture(params=supported())
def every_python(request: pytest.FixtureRequest) -> Path:
    """Each of them in turn."""
    return supported()[request.param]


@pytest.fixture
def python() -> Path:
    """The oldest of them."""
    return next(iter(supported().values()))


@pytest.fixture
def start(python: Path, tmp_path: Path) -> Iterator[Start]:
    """Starts agents that are closed when the test is over; ``python`` unless another is named."""
    with ExitStack() as open_sessions:

        def start_one(
            interpreter: Path = python, idle_limit: float = 900.0, first: bytes = b""
        ) -> AgentSession:
            """``first``: requests that are sent before the greeting."""
            transport = LocalTransport(str(tmp_path), interpreter=str(interpreter))
            return open_sessions.enter_context(connect(transport, bundle() + first, idle_limit=idle_limit))

        yield start_one


@pytest.fixture
def session(start: Start) -> AgentSession:
    return start()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """An installed distribution, not compiled."""
    return Site(tmp_path / "site-packages").install()
