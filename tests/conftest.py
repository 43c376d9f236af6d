"""Fixtures of the real parts, and the isolation that every test gets."""

from __future__ import annotations

import os
import signal
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.e2e.cases.seen import Collector
from tests.parts.command_line import CommandLine
from tests.parts.containers import ContainerFactory, sweep
from tests.parts.engine import Engine, EngineMissingError, find_engine
from tests.parts.images import ImageFactory

TERMINAL_VARIABLES = (
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "FORCE_COLOR",
    "LINES",
    "NO_COLOR",
    "PY_COLORS",
    "TTY_COMPATIBLE",
    "TTY_INTERACTIVE",
)
PYTHON_VARIABLES = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONPYCACHEPREFIX", "PYTHONSAFEPATH")
"""With any of them inherited, tests of bytecode and of import order pass without having tested anything."""

settings.register_profile("a busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("a busy machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-cases", action="store_true", help="write docs/cases.md from what the tests see")


def pytest_configure(config: pytest.Config) -> None:
    # a shell lets what it starts in the background ignore Ctrl-C, and every child would inherit that
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):  # of xdist: the controller collects
        config.pluginmanager.register(Collector(write=config.getoption("--write-cases")))


@pytest.fixture(autouse=True)
def isolation(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary home with its own state, cache, configuration and git identity; the home's path."""
    home = tmp_path_factory.mktemp("home")
    docker_configuration = Path.home() / ".docker"
    if docker_configuration.is_dir() and "DOCKER_CONFIG" not in os.environ:
        monkeypatch.setenv("DOCKER_CONFIG", str(docker_configuration))  # a context may lead to the engine
    for name in os.environ:
        if name.startswith(("GIT_", "OVERLAYSYNC_")) or name in (*TERMINAL_VARIABLES, *PYTHON_VARIABLES):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for name, folder in (("STATE", ".local/state"), ("CACHE", ".cache"), ("CONFIG", ".config")):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / folder))
    git_configuration = home / ".gitconfig"
    git_configuration.write_text(
        "[user]\n\tname = Developer\n\temail = developer@example.org\n[init]\n\tdefaultBranch = main\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(git_configuration))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return home


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """The real command line, run from the test's own folder."""
    return CommandLine(tmp_path)


@pytest.fixture(scope="session")
def engine() -> Engine:
    """A working container engine. Without one tests are skipped, but fail on CI, which has to have one."""
    try:
        return find_engine()
    except EngineMissingError as missing:
        reason = str(missing)
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def engine_session(engine: Engine) -> Iterator[str]:
    """The label's value on all that this session makes; containers and images of it go at the end."""
    session = uuid.uuid4().hex
    yield session
    sweep(engine, session)


@pytest.fixture(scope="session")
def images(engine: Engine, engine_session: str) -> ImageFactory:
    """Images to start containers from."""
    return ImageFactory(engine, engine_session)


@pytest.fixture
def containers(engine: Engine, engine_session: str) -> Iterator[ContainerFactory]:
    """Starts containers that are removed when the test is over."""
    factory = ContainerFactory(engine, engine_session)
    yield factory
    factory.remove_all()
