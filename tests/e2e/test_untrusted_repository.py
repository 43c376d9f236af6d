"""A checkout whose every setting, attribute and hook names a program: none of them ever runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.e2e.scenario import LocalScenario, check_manners
from tests.e2e.test_hook import add_remote
from tests.parts.command_line import Result

PROGRAMS = (
    "core.alternateRefsCommand",
    "core.askPass",
    "core.editor",
    "core.fsmonitor",
    "core.gitProxy",
    "core.pager",
    "core.sshCommand",
    "credential.helper",
    "diff.external",
    "diff.trap.command",
    "diff.trap.textconv",
    "filter.trap.clean",
    "filter.trap.process",
    "filter.trap.smudge",
    "gpg.program",
    "merge.trap.driver",
    "remote.origin.uploadpack",
    "sequence.editor",
    "submodule.trap.update",
    "uploadpack.packObjectsHook",
)
"""Settings of git whose value is a program (git-config(1))."""

SWITCHES = {
    "commit.gpgSign": "true",
    "core.untrackedCache": "true",
    "extensions.partialClone": "origin",
    "filter.trap.required": "true",
    "merge.default": "trap",
    "merge.renormalize": "true",
    "merge.verifySignatures": "true",
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "remote.origin.promisor": "true",
    "submodule.recurse": "true",
    "tag.gpgSign": "true",
}
"""Settings that have git use the programs more often."""

HOOKS = (
    "fsmonitor-watchman",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "pre-auto-gc",
    "pre-commit",
    "reference-transaction",
)
WHEN_LINKED = """
[filter "linked"]
    smudge = {program} linked-smudge
    clean = {program} linked-clean
[merge "linked"]
    driver = {program} linked-driver
"""
"""Read by git in a linked worktree only (includeIf.gitdir)."""


class Traps:
    """A repository with a program everywhere; ``ran``: the names of those that did."""

    def __init__(self, local: LocalScenario, directory: Path) -> None:
        self.project = local.project
        self._log = directory / "ran"
        self._program = directory / "trap"
        self._program.write_text(f'#!/bin/sh\necho "$1" >> {self._log}\ncat\n')
        self._program.chmod(0o755)
        self._directory = directory

    @property
    def ran(self) -> set[str]:
        return set(self._log.read_text().split()) if self._log.exists() else set()

    def forget(self) -> None:
        self._log.unlink(missing_ok=True)

    def set(self) -> None:
        git = self.project.git
        git("config", "remote.origin.url", f"ext::{self._program} remote")
        for key, value in SWITCHES.items():
            git("config", key, value)
        linked = self._directory / "linked.inc"
        linked.write_text(WHEN_LINKED.format(program=self._program))
        git("config", "includeIf.gitdir:**/worktrees/**.path", str(linked))
        hooks = self.project.path / ".git" / "hooks"
        hooks.mkdir(exist_ok=True)
        for name in HOOKS:
            (hooks / name).write_text(f"#!/bin/sh\nexec {self._program} hook-{name}\n")
            (hooks / name).chmod(0o755)
        for key in PROGRAMS:  # last, for git itself would run them
            git("config", key, f"{self._program} {key}")

    def attributes(self) -> None:
        # git merges as text what names a driver that is not set, as "linked" is not where the merge runs
        lines = ("*.py diff=trap merge=trap", "config.py filter=trap merge=linked", "norm.py filter=linked")
        self.project.write(".gitattributes", "\n".join(lines) + "\nnorm.py merge=linked\n")


@pytest.fixture
def traps(local: LocalScenario, tmp_path: Path) -> Traps:
    """The image commit has the attributes; a branch has commits, edits and a new file on top."""
    add_remote(local.project, tmp_path)
    traps = Traps(local, tmp_path)
    traps.attributes()
    base = local.project.commit("Attributes")
    local.options = ["--image-commit", base]
    traps.set()
    traps.forget()
    return traps


def diverge(local: LocalScenario, *names: str) -> None:
    """HEAD and the image commit change files in different places: a merge driver's work."""
    off = (
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "commit.gpgSign=false",
        "filter.trap.required=",
    )
    silent = (*off, *(f"filter.trap.{name}=" for name in ("clean", "smudge", "process")))
    git = [word for setting in silent for word in ("-c", setting)]
    project, base = local.project, local.options[1]
    for name in names:
        place = project.path / "sample_pkg" / name
        place.write_text("# of the image\n" * 3 + place.read_text())
    project.git(*git, "commit", "--quiet", "--all", "--message", "Image")
    local.options = ["--image-commit", project.head]
    project.git(*git, "checkout", "--quiet", "-b", "feature", base)
    for name in names:
        place = project.path / "sample_pkg" / name
        place.write_text(place.read_text() + "# of the branch\n" * 3)
    project.git(*git, "commit", "--quiet", "--all", "--message", "Branch")


def test_git_itself_runs_them(local: LocalScenario, traps: Traps) -> None:
    """The control: the traps work."""
    local.edit_generation()
    silent = ("-c", "filter.trap.process=", "-c", "filter.trap.required=false")
    aside = ("worktree", "add", "--quiet", str(traps.project.path.with_name("aside")), "HEAD")
    # where git asks the broken filter, by times that tell nothing, it would end before anything else runs
    for line in (("status",), (*silent, "diff"), (*silent, *aside)):
        subprocess.run(["git", *line], cwd=traps.project.path, capture_output=True, timeout=60, check=False)
    assert {"core.fsmonitor", "diff.trap.command", "hook-post-checkout", "linked-smudge"} <= traps.ran


@pytest.mark.parametrize("command", ["status", "push", "verify", "revert", "init"])
def test_on_the_image_commit(local: LocalScenario, traps: Traps, command: str) -> None:
    local.edit_generation()
    assert local(command).exit_code in (0, 1, 3)
    assert traps.ran == set()


def port(local: LocalScenario) -> Result:
    return check_manners(local.cli("-C", local.project.path, "port", *local.options))


def test_port(local: LocalScenario, traps: Traps) -> None:
    """Merged with ``merge.renormalize``, written, refreshed, and pushed from there."""
    diverge(local, "config.py", "layers/norm.py")
    traps.forget()
    for generation in (2, 3):
        local.edit_generation(generation)
        result = port(local)
        assert (traps.ran, result.exit_code) == (set(), 0), result
    local("push", "--port")
    assert traps.ran == set()


def test_port_where_a_merge_driver_would_be_asked(local: LocalScenario, traps: Traps) -> None:
    diverge(local, "engine.py")
    traps.forget()
    result = port(local)
    assert (traps.ran, result.exit_code) == (set(), 4), result
    assert "port-conflict" in result.stdout


def test_the_hook(local: LocalScenario, traps: Traps) -> None:
    head = local.project.head
    for line in (("install",), ("pre-push",)):
        given = f"refs/heads/main {head} refs/heads/main {'0' * 40}\n"
        result = check_manners(local.cli("-C", local.project.path, "hook", *line, input=given))
        assert result.exit_code == 0, result
    assert traps.ran == set()
