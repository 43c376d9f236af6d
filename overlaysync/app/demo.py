"""``demo``: the whole job on a throw-away package, in an environment of this machine. No engine needed."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from overlaysync.app.calling import Call
from overlaysync.app.demo_package import DISTRIBUTION, SOURCES, install
from overlaysync.app.options import Options, silent
from overlaysync.app.push import push
from overlaysync.app.revert import revert
from overlaysync.app.status import status
from overlaysync.app.verify import verify
from overlaysync.errors import OverlaysyncError
from overlaysync.model.result import Result

SAY = f"import {DISTRIBUTION}; print({DISTRIBUTION}.describe())"


class DemoError(OverlaysyncError):
    """A step of the demonstration did not come out as it must."""


class Step(Struct, frozen=True):
    """One step: what is done in words, the command line it stands for, its result, what the program says."""

    title: str
    command: str | None = None
    result: Result | None = None
    says: str | None = None


class Demo:
    """A repository and an environment below ``directory``, which must be empty."""

    def __init__(self, directory: Path) -> None:
        self.repository = directory / "repository"
        self.environment = directory / "environment"
        self.options = Options(
            worktree=self.repository,
            container=f"local:{self.environment}",
            records=directory / "records",
            cache=directory / "cache",
        )

    def steps(self) -> Iterator[Step]:
        """Does the job step by step, and checks each. Raises DemoError when one comes out wrong."""
        commit = self._make()
        before = self._tree()
        yield Step(
            f"A repository with the package {DISTRIBUTION}, and an environment with its built wheel, "
            f"compiled module included. It was built from commit {commit[:12]}.",
            says=self._say("gain 1"),
        )
        self._edit(f"{DISTRIBUTION}/gain.py", "GAIN = 1", "GAIN = 2")
        yield self._step(
            "Edit a Python file in the repository. What would a push do?", "status", status, "planned"
        )
        yield self._step("Push it.", "push", push, "applied", "gain 2")
        self._edit("csrc/kernel.c", "* 1", "* 3")
        held = self._tree()
        yield self._step(
            "Edit the C source too, and push again: that needs a rebuild.", "push", push, "refused"
        )
        self._expect(held == self._tree(), "a refused push changed the environment")
        self._edit("csrc/kernel.c", "* 3", "* 1")
        yield self._step(
            "Undo that. Does the environment still hold what was pushed?", "verify", verify, "unchanged"
        )
        yield self._step("Put the environment's own files back.", "revert", revert, "applied", "gain 1")
        self._expect(before == self._tree(), "the environment is not as it was")
        yield Step("The environment is byte for byte as it was, with owners, modes and times.")

    def _make(self) -> str:
        """Repository and environment; the commit that the package is built from."""
        from git import Actor, Repo

        for name, text in SOURCES.items():
            file = self.repository / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        nobody = Actor("overlaysync demo", "demo@example.org")
        with Repo.init(self.repository) as repository:
            repository.index.add(list(SOURCES))
            commit = repository.index.commit("The demo's package", author=nobody, committer=nobody).hexsha
        venv.EnvBuilder(symlinks=True, with_pip=False).create(self.environment)
        install(self.repository, self._site_packages(), commit)
        self._say("gain 1")  # now there is bytecode, as in an image that has been used
        return commit

    def _site_packages(self) -> Path:
        major, minor = sys.version_info[:2]
        return self.environment / "lib" / f"python{major}.{minor}" / "site-packages"

    def _edit(self, name: str, old: str, new: str) -> None:
        file = self.repository / name
        file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")

    def _step(
        self, title: str, name: str, use_case: Callable[..., Result], outcome: str, says: str | None = None
    ) -> Step:
        with Call(self.options) as call:
            result = use_case([call], silent)
        self._expect(result.outcome == outcome, f"{name} came out as {result.outcome}: {_reasons(result)}")
        self._expect(
            result.exit_code == (3 if outcome == "refused" else 0), f"{name} ended with another exit code"
        )
        said = self._say(says) if says is not None else None
        return Step(title, f"overlaysync {name} --container {self.options.container}", result, said)

    def _say(self, expected: str) -> str:
        """What a fresh Python of the environment says."""
        python = str(self.environment / "bin" / "python")
        done = subprocess.run(
            [python, "-c", SAY], cwd=self.environment, capture_output=True, text=True, timeout=60, check=False
        )
        said = done.stdout.strip()
        self._expect(expected in said, f"the package says {said!r} {done.stderr[-500:]}")
        return said

    def _tree(self) -> str:
        """One digest over names, modes, owners, times and contents of what is installed."""
        entries = []
        for file in sorted(self._site_packages().rglob("*")):
            status = file.lstat()
            content = file.read_bytes() if file.is_file() else b""
            times = status.st_mtime_ns if file.is_file() else 0
            entries.append(
                (str(file), status.st_mode, status.st_uid, times, hashlib.sha256(content).hexdigest())
            )
        return hashlib.sha256(json.dumps(entries).encode()).hexdigest()

    @staticmethod
    def _expect(condition: bool, otherwise: str) -> None:
        if not condition:
            raise DemoError(f"the demonstration went wrong: {otherwise}")


def _reasons(result: Result) -> str:
    return "; ".join(problem.message for problem in result.problems) or "no reason given"
