"""Checkouts at places and in states in which git itself gives no answer."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.cases.seen import Case
from tests.e2e.scenario import LocalScenario, Scenario, check_answer, codes, second_commit
from tests.parts.repositories import Repository

FOREIGN = {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
"""git's own way to take every checkout for another user's; nobody need be root for it."""


@pytest.mark.case("W02")
@pytest.mark.container
def test_a_linked_worktree(scenario: Scenario, case: Case) -> None:
    """Its ``.git`` is a file with a path of the host; in the container it leads nowhere."""
    project = scenario.project
    project.git("config", "extensions.worktreeConfig", "true")
    project.git("worktree", "add", "--quiet", "--detach", "../linked")
    linked = project.path.parent / "linked"
    assert (linked / ".git").is_file()
    Repository(linked).git(
        "sparse-checkout", "set", "--cone", "sample_pkg/models"
    )  # configuration of its own
    (linked / "sample_pkg/models/tiny.py").write_text("LAYERS = []\n")
    line = ("push", "--json", "--container", scenario.target)
    answer = check_answer(scenario.cli(*line, directory=linked / "sample_pkg/models"))
    case.trap(answer, "called from below a linked worktree, sparse by a configuration of its own")
    assert answer["outcome"] == "applied"
    assert [item["source"] for item in answer["operations"]] == ["sample_pkg/models/tiny.py"]
    assert scenario.python("from sample_pkg.models import tiny; print(tiny.LAYERS)") == "[]"

    (linked / ".git").write_text("gitdir: /nowhere/.git/worktrees/linked\n")
    answer = check_answer(scenario.cli(*line, directory=linked))
    case.trap(answer, "its repository moved away")
    assert (answer["exit_code"], codes(answer)) == (2, ["usage"])
    case.control(scenario.ask("status"), "the main worktree")


def of_another_user(*paths: Path) -> None:
    for path in paths:
        for place in (path, *path.rglob("*")):
            os.lchown(place, 12345, 12345)


@pytest.mark.case("W04")
@pytest.mark.parametrize("what", ["assumed", "all of it", "its .git alone"])
def test_a_checkout_of_another_user(
    local: LocalScenario, case: Case, isolation: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = local.project
    local.edit_generation()
    case.control(local.applied(), "a checkout of one's own")
    if what == "assumed":
        for name, value in FOREIGN.items():
            monkeypatch.setenv(name, value)
    elif os.geteuid() == 0:
        of_another_user(project.path if what == "all of it" else project.path / ".git")
    else:
        pytest.skip("only root can give a directory to another user")
    local.edit_generation(3)
    configuration = isolation / ".gitconfig"
    before = configuration.read_bytes()
    answer = case.trap(local.refused(), "in git's own words")
    assert (answer["exit_code"], codes(answer)) == (4, ["baseline"])
    assert "dubious ownership" in answer["problems"][0]["message"]
    assert "safe.directory" in answer["problems"][0]["next_step"]
    assert check_answer(local("status", "--json"))["exit_code"] == 4
    assert configuration.read_bytes() == before

    # the checkout cannot vouch for itself
    project.git("config", "--file", ".git/config", "safe.directory", "*")
    assert codes(local.refused()) == ["baseline"]
    configuration.write_bytes(before + f"[safe]\n\tdirectory = {project.path}\n".encode())
    case.control(local.applied(), "allowed by the user's own configuration")
    assert local.answer() == "generation 3: 1.0"


def other_repository(directory: Path) -> dict[str, str]:
    other = Repository(directory / "other")
    other.write("a.py", "")
    other.commit()
    return {"GIT_DIR": str(other.path / ".git"), "GIT_WORK_TREE": str(other.path)}


@pytest.mark.case("W04")
@pytest.mark.parametrize(
    "variables",
    [
        other_repository,
        lambda directory: {"GIT_INDEX_FILE": str(directory / "index"), "GIT_CEILING_DIRECTORIES": "/"},
        lambda _: {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.worktree", "GIT_CONFIG_VALUE_0": "/"},
        lambda _: {"GIT_EXTERNAL_DIFF": "true", "GIT_CONFIG_PARAMETERS": "'core.bare=true'"},
    ],
)
def test_git_is_told_other_things_by_the_environment(
    local: LocalScenario, case: Case, tmp_path: Path, variables: Callable[[Path], dict[str, str]]
) -> None:
    local.edit_generation()
    clean = case.control(local.ask("status"), "no such variable")
    answer = local.ask("status", environment=variables(tmp_path))
    case.trap(answer, "GIT_ variables that lead elsewhere change nothing")
    assert (answer["operations"], answer["baseline"]) == (clean["operations"], clean["baseline"])


@pytest.mark.case("W04")
def test_a_git_that_fails(local: LocalScenario, case: Case, tmp_path: Path) -> None:
    """Any exit status but the expected one ends the run: nothing compared is not nothing changed."""
    local.edit_generation()
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    for status, output in ((129, "usage: git"), (1, ""), (255, "")):
        program.write_text(f"#!/bin/sh\necho '{output}'\nexit {status}\n")
        program.chmod(0o755)
        path = f"{program.parent}:{os.environ['PATH']}"
        answer = local.ask("push", environment={"PATH": path})
        assert (answer["exit_code"], codes(answer)) == (4, ["baseline"])
        assert f"exit status {status}" in answer["problems"][0]["message"]
    case.trap(answer, "a git that ends with an unexpected exit status")
    case.control(local.applied(), "git itself")


@pytest.mark.case("W17")
def test_a_shallow_clone(local: LocalScenario, case: Case, tmp_path: Path) -> None:
    project = local.project
    image_commit = second_commit(project)
    clone = tmp_path / "clone"
    project.git("clone", "--quiet", "--depth=1", f"file://{project.path}", str(clone))
    shallow = Repository(clone)
    with pytest.raises(RuntimeError, match="exited 128"):
        shallow.git("merge-base", "--is-ancestor", image_commit, "HEAD")
    origin, project.path = project.path, clone
    local.edit_generation()
    answer = case.trap(local.refused("--image-commit", image_commit), "told: the clone is shallow")
    assert (answer["exit_code"], codes(answer)) == (4, ["unknown-commit"])
    assert "shallow clone" in answer["problems"][0]["message"]
    assert answer["problems"][0]["next_step"] == f"git -C {clone} fetch --unshallow"

    shallow.git("fetch", "--quiet", "--unshallow")
    answer = local.refused("--image-commit", image_commit)
    case.control(answer, "fetched, the commit is known, and HEAD another")
    assert codes(answer) == ["head-differs"]

    project.path = tmp_path / "second"
    Repository(origin).git("clone", "--quiet", "--depth=1", f"file://{origin}", str(project.path))
    local.edit_generation()
    head = Repository(origin).head
    local.options = ["--image-commit", head]
    answer = case.control(local.applied(), "shallow, at the image commit: history is not needed")
    assert answer["baseline"]["head"] == head
