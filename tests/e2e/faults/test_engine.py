"""The engine itself restarted in the middle of a push: a private one, never the machine's."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.faults.test_container import hook, interrupted, recovers
from tests.e2e.scenario import Scenario, Stage, check_answer, codes
from tests.e2e.test_sequence import sources

pytestmark = pytest.mark.container
PLACES = {"--data-root": "data", "--exec-root": "exec", "--pidfile": "pid"}


class PrivateEngine:
    """A ``dockerd`` with directories and a socket of its own, and without any network."""

    def __init__(self, directory: Path) -> None:
        self.socket = f"unix://{directory}/socket"
        options = [f"{name}={directory / place}" for name, place in PLACES.items()]
        self._line = ["dockerd", *options, f"--host={self.socket}", "--bridge=none", "--iptables=false"]
        self._data = directory / PLACES["--data-root"]
        self._log = directory / "log"

    def start(self) -> None:
        """Returns when it answers; skips where this machine lets no second one run."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen([*self._line, "--ip6tables=false"], stdout=log, stderr=log)
        question = ["docker", "--host", self.socket, "version"]
        deadline = time.monotonic() + 60
        while subprocess.run(question, capture_output=True, timeout=60, check=False).returncode:
            if self._process.poll() is not None or time.monotonic() > deadline:
                pytest.skip(f"no second engine runs here: {self._log.read_text()[-300:]}")
            time.sleep(0.2)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(60)

    def clear(self) -> None:
        """It mounts its directory on itself, and leaves it so; pytest could not remove that."""
        subprocess.run(["umount", "--recursive", self._data], capture_output=True, check=False)


@pytest.fixture
def private(tmp_path: Path) -> Iterator[PrivateEngine]:
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("no engine can be started here")
    engine = PrivateEngine(tmp_path)
    engine.start()
    yield engine
    engine.stop()
    engine.clear()


def test_an_engine_that_is_restarted(
    stage: Stage, private: PrivateEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = stage.project()
    tag = stage.image(project, prepare=hook)
    image = stage.images.engine.run("save", tag).stdout
    with monkeypatch.context() as environment:
        environment.setenv("DOCKER_HOST", private.socket)
        stage.images.engine.run("load", input=image)
        scenario = stage.start(project, tag)
        before = sources(scenario.files())
        try:
            answer = check_answer(interrupted(scenario, lambda _scenario, _process: private.stop()))
            assert (answer["outcome"], answer["exit_code"]) == ("failed", 7)
            assert codes(scenario.ask("status")) == ["no-engine"]
            private.start()
            scenario.container.start()
            recovers(scenario, before)
        finally:
            remove(scenario)


def remove(scenario: Scenario) -> None:
    scenario.container.engine.run("rm", "--force", scenario.container.name, check=False)
