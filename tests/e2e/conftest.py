"""Scenarios for tests through the real command line, in real containers and environments."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.scenario import LocalScenario, Scenario, Stage, set_locally
from tests.parts.command_line import CommandLine
from tests.parts.containers import ContainerFactory
from tests.parts.images import ImageFactory


@pytest.fixture(scope="session")
def labelled() -> dict[tuple[object, ...], str]:
    """Images that differ from others in their labels only; the session's sweep removes them."""
    return {}


@pytest.fixture
def stage(
    images: ImageFactory,
    containers: ContainerFactory,
    cli: CommandLine,
    tmp_path: Path,
    labelled: dict[tuple[object, ...], str],
) -> Stage:
    return Stage(images, containers, cli, tmp_path, labelled)


@pytest.fixture
def scenario(stage: Stage) -> Scenario:
    """The plain case: labelled image, virtual environment, root."""
    return stage.set()


@pytest.fixture
def local(cli: CommandLine, tmp_path: Path) -> LocalScenario:
    """The plain case without an engine: an environment of this machine."""
    return set_locally(cli, tmp_path)
