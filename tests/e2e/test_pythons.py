"""Agent and target under every Python that they may meet."""

from __future__ import annotations

import pytest

from tests.e2e.scenario import Stage
from tests.parts.containers import ContainerFactory
from tests.parts.images import ImageFactory
from tests.parts.interpreters import installed_interpreters

pytestmark = pytest.mark.container


def push_and_revert(stage: Stage, image: str, version: str) -> None:
    scenario = stage.set(image=image)
    before = scenario.files()
    bytecode = f"sample_pkg/__pycache__/engine.cpython-{version.replace('.', '')}.pyc"
    assert bytecode in before
    scenario.edit_generation()
    scenario.project.write("sample_pkg/layers/drop.py", "RATE = 0.5\n")
    answer = scenario.applied()
    assert answer["details"]["python"].startswith(f"{version}.")
    assert bytecode not in scenario.files()
    assert scenario.answer() == "generation 2: 1.0"
    assert scenario.ask("verify")["exit_code"] == 0
    assert scenario.ask("revert")["outcome"] == "applied"
    assert scenario.files() == before


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.12"])
def test_pythons_of_this_machine(stage: Stage, images: ImageFactory, version: str) -> None:
    """3.11 is what all other tests run under where this machine's tests do."""
    executable = installed_interpreters().get(version)
    if executable is None:
        pytest.skip(f"this machine has no Python {version}")
    push_and_revert(stage, images.venv(executable), version)


@pytest.mark.network
@pytest.mark.parametrize(("suite", "version"), [("bullseye", "3.9"), ("trixie", "3.13"), ("forky", None)])
def test_pythons_of_debian(
    stage: Stage, images: ImageFactory, containers: ContainerFactory, suite: str, version: str | None
) -> None:
    """forky is on its way to the next release: its Python is newer, and moves."""
    image = images.debian(suite)
    if version is None:
        version = containers.run(image).python("import sys; print('%d.%d' % sys.version_info[:2])")
    push_and_revert(stage, image, version)
