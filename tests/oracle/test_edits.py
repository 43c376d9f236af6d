"""Random edits through push and revert: the target is always what a build of the worktree would install."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overlaysync.app.calling import Call
from overlaysync.app.options import Options, silent
from overlaysync.app.push import push
from overlaysync.app.revert import revert
from overlaysync.errors import ApplyError
from overlaysync.model.result import Result
from tests.oracle.edits import Worktree, random_edit
from tests.oracle.models import MODELS, Model
from tests.parts.environments import Environment, make_environment
from tests.parts.repositories import Repository
from tests.parts.wheels import write_wheel

EXAMPLES = os.environ.get("OVERLAYSYNC_EXAMPLES")
"""So many examples for each model, other ones on every run; by default few, and always the same."""


class Bench:
    """One installed package and its worktree, put back to where they began after every example."""

    def __init__(self, directory: Path, model: Model) -> None:
        self.model = model
        self.repository = Repository(directory / "repository")
        for name, content in model.sources.items():
            self.repository.write(name, content)
        head = self.repository.commit()
        self.environment: Environment = make_environment(directory / "environment")
        self.environment.install(write_wheel(directory, "pkg", "1.0", model.ships(model.sources)))
        self.original = self.installed()
        self.options = Options(
            worktree=self.repository.path,
            container=f"local:{self.environment.prefix}",
            distribution="pkg",
            image_commit=head,
            records=directory / "records",
            acknowledged=frozenset({"removals"}),
        )

    def installed(self) -> Mapping[str, bytes]:
        top = self.environment.site_packages
        return {
            path.relative_to(top).as_posix(): path.read_bytes()
            for path in (top / "pkg").rglob("*")
            if path.is_file() and path.suffix != ".pyc"
        }

    def push(self) -> Result | None:
        """The result; None where the push was carried out, did not prove itself, and was rolled back."""
        try:
            with Call(self.options) as call:
                return push([call], silent)
        except ApplyError as error:
            assert error.code == "read-back", error
            return None

    def start_again(self) -> None:
        with Call(self.options) as call:
            revert([call], silent)
        self.repository.git("checkout", "--quiet", "HEAD", "--", ".")
        self.repository.git("clean", "--quiet", "-fdx")


@pytest.fixture(scope="module", params=MODELS)
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("bench"), MODELS[request.param])


@settings(
    max_examples=int(EXAMPLES or 25),
    derandomize=EXAMPLES is None,
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_an_overlay_is_what_a_build_installs(bench: Bench, data: st.DataObject) -> None:
    try:
        _follow(bench, data)
    finally:
        bench.start_again()
    assert bench.installed() == bench.original


def _follow(bench: Bench, data: st.DataObject) -> None:
    worktree = Worktree(bench.repository.path, bench.model.sources)
    standing = bench.original
    for _ in range(data.draw(st.integers(1, 3), label="pushes")):
        for _ in range(data.draw(st.integers(1, 5), label="edits")):
            random_edit(worktree, data.draw)
        result = bench.push()
        installed = bench.installed()
        if result is None or result.outcome == "refused":
            codes = {problem.code for problem in result.problems} if result else {"shadowed"}
            if hides_another(worktree.files):
                codes.discard("shadowed")
            assert codes <= (set() if bench.model.told else {"unproven-shipping"}), result
            assert installed == standing
            continue
        expected = dict(bench.model.ships(worktree.files))
        unknown = left_out(result)
        assert not (unknown and bench.model.told), result
        for path in unknown:
            expected.pop(path, None)
        assert installed == expected, result
        standing = installed


def hides_another(files: Mapping[str, bytes]) -> bool:
    """Whether a module and a directory have one name: only one of them can be imported."""
    directories = {path.rpartition("/")[0] for path in files}
    return any(f"{directory}.py" in files for directory in directories)


def left_out(result: Result) -> list[str]:
    """Installed paths of new data that the push reported and did not copy."""
    said = (re.search(r"would ship (\S+) is not proven", entry) for entry in result.details["left_out"])
    return [match[1] for match in said if match is not None]
