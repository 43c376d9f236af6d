"""Scenarios for tests through the real command line, in real containers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.scenario import Scenario, Stage
from tests.parts.command_line import CommandLine
from tests.parts.containers import ContainerFactory
from tests.parts.images import ImageFactory


@pytest.fixture
def stage(images: ImageFactory, containers: ContainerFactory, cli: CommandLine, tmp_path: Path) -> Stage:
    return Stage(images, containers, cli, tmp_path)


@pytest.fixture
def scenario(stage: Stage) -> Scenario:
    """The plain case: labelled image, virtual environment, root."""
    return stage.set()
