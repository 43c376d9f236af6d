"""``port``: development has moved on from the image commit; its state is carried, and pushed from there."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.e2e.scenario import OURS, LocalScenario, check_answer, codes, local_tree
from tests.e2e.watcher import watching
from tests.parts.repositories import Repository

ENGINE = "sample_pkg/engine.py"


@pytest.fixture
def moved(local: LocalScenario) -> LocalScenario:
    """A branch with a commit, an edit that is not committed, and a file that git does not know."""
    local.project.git("switch", "--quiet", "--create", "feature")
    local.project.edit("layers/norm.py", "/ 8", "/ 4")
    local.project.commit("Half the norm")
    local.edit_generation()
    local.project.write("sample_pkg/layers/drop.py", "RATE = 0.5\n")
    return local


def port(local: LocalScenario, *arguments: str) -> Any:
    line = ["-C", str(local.project.path), "port", "--json", *local.options, *arguments]
    return check_answer(local.cli(*line))


def linked(answer: Any) -> Repository:
    return Repository(Path(answer["details"]["worktree"]))


def test_commits_edits_and_new_files_arrive(moved: LocalScenario) -> None:
    image, head = moved.options[1], moved.project.head
    assert codes(moved.refused()) == ["head-differs"]
    before = local_tree(moved.project.path)
    answer = port(moved)
    assert (answer["outcome"], answer["exit_code"]) == ("applied", 0)
    ported = answer["details"]["ported"]
    assert (ported["branch"], ported["head"], ported["merge_base"]) == ("feature", head, image)
    there = linked(answer)
    assert there.head == image
    assert there.git("status", "--porcelain", "--untracked-files=no").splitlines() == [
        f" M {ENGINE}",
        " A sample_pkg/layers/drop.py",
        " M sample_pkg/layers/norm.py",
    ]
    moved.project.path, development = there.path, moved.project.path
    pushed = moved.applied()
    moved.project.path = development
    assert pushed["outcome"] == "applied"
    assert sorted(item["source"] for item in pushed["operations"]) == sorted(
        [ENGINE, "sample_pkg/layers/drop.py", "sample_pkg/layers/norm.py"]
    )
    assert moved.answer() == "generation 2: 2.0"
    manifest = json.loads(Path(pushed["manifest"]).read_text())
    assert manifest["repository"]["ported"] == ported
    after = local_tree(moved.project.path)
    assert {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)} <= {
        path for path in after if path.startswith(".git")
    }


def test_what_was_pushed_from_a_port_is_missed_where_it_is_gone(moved: LocalScenario) -> None:
    moved.applied("--port")
    assert moved.ask("verify")["exit_code"] == 0
    shutil.rmtree(moved.environment.site_packages / OURS)
    assert codes(moved.ask("verify"))[-1] == "record-lost"


def test_push_does_it_in_one_go_and_follows(moved: LocalScenario) -> None:
    assert moved.applied("--port")["operations"]
    assert moved.answer() == "generation 2: 2.0"
    assert moved.push("--port")["outcome"] == "unchanged"
    moved.edit_generation(3)
    (moved.project.path / "sample_pkg/layers/drop.py").unlink()
    moved.applied("--port")
    assert moved.answer() == "generation 3: 2.0"
    assert "sample_pkg/layers/drop.py" not in moved.files()
    moved.project.git("checkout", "--quiet", "--", ".")
    moved.project.git("switch", "--quiet", "--detach", moved.options[1])
    assert moved.applied("--port")["operations"]
    assert moved.answer() == "generation 1: 1.0"


def test_a_status_tells_what_such_a_push_would_do(moved: LocalScenario) -> None:
    before, host = moved.traces(), places_of_the_host(moved.project)
    assert codes(moved.ask("status")) == ["head-differs"]
    answer = moved.ask("status", "--port")
    assert (answer["command"], answer["outcome"], answer["exit_code"]) == ("status", "planned", 0)
    assert answer["operations"] == moved.push("--port", "--dry-run")["operations"]
    assert moved.ask("status", "--port", "--check")["exit_code"] == 1
    assert (moved.traces(), places_of_the_host(moved.project)) == (before, host)
    assert answer["operations"] == moved.applied("--port")["operations"]
    answer = moved.ask("status", "--port", "--check")
    assert (answer["outcome"], answer["exit_code"], answer["problems"]) == ("unchanged", 0, [])
    assert answer["details"]["notes"] == ["feature was carried for this look alone; nothing of that stays"]


def test_a_status_tells_what_does_not_go_together(local: LocalScenario) -> None:
    start = local.project.head
    local.edit_generation(5)
    image = local.project.commit("Five")
    local.project.git("switch", "--quiet", "--create", "feature", start)
    local.edit_generation(6)
    local.options = ["--image-commit", image]
    answer = local.ask("status", "--port")
    assert (answer["command"], answer["outcome"], answer["exit_code"]) == ("status", "planned", 1)
    assert codes(answer) == ["port-conflict"]


def test_a_dry_run_leaves_no_worktree_and_no_objects(moved: LocalScenario) -> None:
    project = moved.project
    before = places_of_the_host(project)
    answer = moved.push("--port", "--dry-run")
    assert (answer["outcome"], answer["exit_code"]) == ("planned", 0)
    assert places_of_the_host(project) == before
    assert "dry-run" not in json.dumps(answer)
    pushed = moved.applied("--port")
    assert pushed["operations"] == answer["operations"]
    place = Path(next(note for note in pushed["details"]["notes"] if "pushed from" in note).split()[2][:-1])

    moved.edit_generation(3)
    before = places_of_the_host(project)
    answer = moved.push("--port", "--dry-run")
    assert [item["source"] for item in answer["operations"]] == [ENGINE]
    assert places_of_the_host(project) == before
    assert "GENERATION = 2" in (place / ENGINE).read_text()


def places_of_the_host(project: Repository) -> Any:
    """Development and linked worktrees, the repository and the records; locks and times apart."""
    state = Path(os.environ["XDG_STATE_HOME"], "overlaysync")
    return {
        (place, name): (entry.mode, entry.content)
        for place in (project.path, state)
        for name, entry in local_tree(place).items()
        if not (name.endswith(".lock") or (place == state and not entry.content))
    }


def test_a_dry_run_is_refused_as_the_push_would_be(moved: LocalScenario) -> None:
    there = linked(port(moved))
    there.write("sample_pkg/layers/norm.py", "def normalise(value):\n    return 0\n")
    moved.edit_generation(3)
    before = places_of_the_host(moved.project)
    answer = moved.refused("--port", "--dry-run")
    assert (answer["exit_code"], "norm.py" in answer["problems"][0]["message"]) == (4, True)
    assert places_of_the_host(moved.project) == before
    there.git("checkout", "--quiet", "--", ".")
    moved.project.git("worktree", "remove", "--force", str(there.path))
    there.path.mkdir()
    (there.path / "file").write_text("mine")
    answer = moved.refused("--port", "--dry-run")
    assert (answer["exit_code"], "--to DIR" in answer["problems"][0]["next_step"]) == (2, True)
    shutil.rmtree(there.path)
    assert moved.push("--port", "--dry-run")["outcome"] == "planned"
    assert not there.path.exists()
    moved.project.write("csrc/kernel.c", "int kernel;\n")
    before = places_of_the_host(moved.project)
    assert codes(moved.refused("--port", "--dry-run")) == ["native-change"]
    assert places_of_the_host(moved.project) == before


@pytest.mark.parametrize("at", ["read-tree -m -u", "worktree add"])
def test_a_dry_run_that_was_killed_leaves_nothing_to_the_next_one(
    moved: LocalScenario, tmp_path: Path, at: str
) -> None:
    """Also where git was making the worktree, which it locks meanwhile."""
    programs = tmp_path / "bin"
    programs.mkdir()
    git, locked = shutil.which("git"), ".git/worktrees/worktree/locked"
    (programs / "git").write_text(
        f'#!/bin/sh\ncase "$*" in *"{at}"*) {git} "$@"; touch {locked}; kill -KILL $PPID;; esac\n'
        f'exec {git} "$@"\n'
    )
    (programs / "git").chmod(0o755)
    before = places_of_the_host(moved.project)
    line = ["-C", str(moved.project.path), "push", "--container", moved.target, *moved.options]
    path = {"PATH": f"{programs}:{os.environ['PATH']}"}
    run = moved.cli(*line, "--port", "--dry-run", environment=path)
    assert run.exit_code == -9
    assert places_of_the_host(moved.project) != before
    assert moved.push("--port", "--dry-run")["outcome"] == "planned"
    assert places_of_the_host(moved.project) == before


def test_the_image_has_what_the_branch_lacks(local: LocalScenario) -> None:
    """Three-way: what both histories changed apart from each other is there in the end."""
    start = local.project.head
    local.project.edit("layers/norm.py", "/ 8", "/ 2")
    image = local.project.commit("In the image only")
    (local.environment.site_packages / "sample_pkg").rename(local.cli.directory / "old")
    local.environment.install(local.project.build_wheel(local.cli.directory / "wheels2"))
    local.options = ["--image-commit", image]
    local.project.git("switch", "--quiet", "--create", "feature", start)
    local.edit_generation()
    local.project.commit("On the branch")
    answer = port(local)
    assert answer["details"]["ported"]["merge_base"] == start
    operations = local.applied("--port")["operations"]
    assert [item["source"] for item in operations] == [ENGINE]
    assert local.answer() == "generation 2: 4.0"


def test_a_conflict_is_told_by_file_and_nothing_stays(local: LocalScenario) -> None:
    start = local.project.head
    local.edit_generation(5)
    image = local.project.commit("Five")
    local.project.git("switch", "--quiet", "--create", "feature", start)
    local.edit_generation(6)
    local.project.write("sample_pkg/layers/drop.py", "RATE = 0.5\n")
    local.options = ["--image-commit", image]
    answer = port(local)
    assert (answer["outcome"], answer["exit_code"], codes(answer)) == ("refused", 4, ["port-conflict"])
    assert [problem["path"] for problem in answer["problems"]] == [ENGINE]
    assert f"git -C {local.project.path} rebase" in answer["problems"][0]["next_step"]
    assert not linked_exists(answer)
    local.edit_generation(5)
    assert port(local)["outcome"] == "applied"


def linked_exists(answer: Any) -> bool:
    return Path(answer["details"]["worktree"]).exists()


def test_a_conflict_after_a_good_one_leaves_that_as_it_was(moved: LocalScenario) -> None:
    there = linked(port(moved)).path
    before = {path: path.read_bytes() for path in there.rglob("*.py")}
    other = moved.options[1]
    moved.project.git("stash", "--quiet", "--include-untracked")
    moved.project.git("switch", "--quiet", "--detach", other)
    moved.edit_generation(9)
    moved.options = ["--image-commit", moved.project.commit("Nine")]
    moved.project.git("switch", "--quiet", "feature")
    moved.project.git("stash", "pop", "--quiet")
    assert codes(port(moved)) == ["port-conflict"]
    assert {path: path.read_bytes() for path in there.rglob("*.py")} == before


def test_edits_in_the_linked_worktree_are_never_overwritten(moved: LocalScenario) -> None:
    there = linked(port(moved))
    there.write("sample_pkg/layers/norm.py", "def normalise(value):\n    return 0\n")
    moved.edit_generation(3)
    answer = port(moved)
    assert (answer["exit_code"], "norm.py" in answer["problems"][0]["message"]) == (4, True)
    assert "git worktree remove" in answer["problems"][0]["next_step"]
    assert "return 0" in (there.path / "sample_pkg/layers/norm.py").read_text()
    moved.project.git("worktree", "remove", "--force", str(there.path))
    assert port(moved)["outcome"] == "applied"


INTERRUPTED = """#!/bin/sh
case "$*" in
*"read-tree -m -u"*)
    echo "half of" > {engine}
    kill -INT $PPID
    exec sleep 1
esac
exec {git} "$@"
"""
"""A git that Ctrl-C meets while it writes the linked worktree."""


def test_what_an_interrupt_left_is_not_taken_for_an_edit(moved: LocalScenario, tmp_path: Path) -> None:
    there = linked(port(moved))
    moved.edit_generation(3)
    programs = tmp_path / "bin"
    programs.mkdir()
    script = INTERRUPTED.format(engine=there.path / ENGINE, git=shutil.which("git"))
    (programs / "git").write_text(script)
    (programs / "git").chmod(0o755)
    line = ["-C", str(moved.project.path), "port", *moved.options]
    run = moved.cli(*line, environment={"PATH": f"{programs}:{os.environ['PATH']}"})
    assert run.exit_code == 130
    [problem] = port(moved)["problems"]
    assert "an earlier port was interrupted" in problem["message"]
    assert ENGINE in problem["message"]
    assert f"git worktree remove --force --force {there.path}" in problem["next_step"]
    moved.project.git("worktree", "remove", "--force", str(there.path))
    assert port(moved)["outcome"] == "applied"
    there.write(ENGINE, "mine\n")
    assert "files were changed" in port(moved)["problems"][0]["message"]


def test_one_run_at_a_time(moved: LocalScenario) -> None:
    """Else what another one carries meanwhile would be pushed in part."""
    place = Path(port(moved)["details"]["worktree"])
    with FileLock(place.with_name(f"{place.name}.lock")):
        answer = port(moved)
        assert (answer["exit_code"], codes(answer)) == (9, ["locked"])
        assert moved.push("--port")["exit_code"] == 9
    assert moved.applied("--port")["outcome"] == "applied"


def test_a_commit_in_the_linked_worktree_is_not_lost(moved: LocalScenario) -> None:
    there = linked(port(moved))
    there.git("add", "--all")
    commit = there.commit("Made in the wrong place")
    moved.edit_generation(3)
    answer = port(moved)
    assert (answer["exit_code"], codes(answer)) == (4, ["baseline"])
    assert commit in answer["problems"][0]["next_step"]
    assert there.head == commit
    there.git("reset", "--quiet", "--soft", moved.options[1])
    assert port(moved)["outcome"] == "applied"


def test_what_git_has_forgotten_is_told_with_the_way_out(moved: LocalScenario) -> None:
    there = linked(port(moved))
    moved.edit_generation(3)
    moved.project.git("prune", "--expire=now")
    answer = port(moved)
    assert (answer["exit_code"], "git worktree remove" in answer["problems"][0]["next_step"]) == (4, True)
    moved.project.git("worktree", "remove", "--force", str(there.path))
    assert port(moved)["outcome"] == "applied"


def test_a_place_that_cannot_be_made(moved: LocalScenario, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = port(moved, "--to", str(tmp_path / "file/below/there"))
    assert (answer["exit_code"], "--to" in answer["problems"][0]["next_step"]) == (2, True)


def test_places_that_are_not_ours(moved: LocalScenario, tmp_path: Path) -> None:
    occupied = tmp_path / "occupied"
    occupied.mkdir()
    (occupied / "file").write_text("mine")
    other = Repository(tmp_path / "other")
    other.write("a", "")
    other.commit()
    for place in (occupied, other.path, moved.project.path):
        answer = port(moved, "--to", str(place))
        assert answer["exit_code"] == 2, place
        assert "--to DIR" in answer["problems"][0]["next_step"]
    assert (occupied / "file").read_text() == "mine"
    assert port(moved, "--to", str(tmp_path / "free"))["details"]["worktree"] == str(tmp_path / "free")


def test_a_branch_in_place_of_the_worktree(moved: LocalScenario) -> None:
    answer = port(moved, "--branch", "feature")
    assert answer["details"]["ported"]["state"] == moved.project.head
    assert linked(answer).git("diff", "--name-only").splitlines() == ["sample_pkg/layers/norm.py"]
    assert port(moved, "--branch", "absent")["exit_code"] == 2
    assert port(moved, "--branch", "--help")["exit_code"] == 2


def test_what_cannot_be_ported(moved: LocalScenario) -> None:
    for commit, code in (("1" * 40, "unknown-commit"), ("abc1234", "no-image-commit")):
        moved.options = ["--image-commit", commit]
        answer = port(moved)
        assert (answer["exit_code"], codes(answer)) == (4, [code])
    unrelated = moved.project.git("commit-tree", "-m", "Unrelated", "HEAD^{tree}")
    moved.options = ["--image-commit", unrelated]
    answer = port(moved)
    assert (answer["exit_code"], "history in common" in answer["problems"][0]["message"]) == (4, True)


def test_programs_of_the_repository_never_run(moved: LocalScenario, tmp_path: Path) -> None:
    """Filters, merge drivers and hooks: files are written as their blobs are."""
    ran = tmp_path / "ran"
    for key in ("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "merge.evil.driver"):
        moved.project.git("config", key, f"touch {ran}; cat")
    moved.project.git("config", "filter.evil.required", "true")
    hook = moved.project.path / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    moved.project.write(".git/info/attributes", "docs/* filter=evil\n*.py merge=evil\n")
    answer = port(moved)
    assert answer["outcome"] == "applied", answer
    assert not ran.exists()


def test_a_file_that_an_ignore_rule_names_is_carried_where_the_branch_tracks_it(moved: LocalScenario) -> None:
    moved.project.write(".gitignore", "*.pyc\nlog*\n")
    moved.project.write("sample_pkg/layers/logging_utils.py", "LOG = 1\n")
    moved.project.git("add", "--force", "--all")
    moved.project.git("commit", "--quiet", "--message", "Tracked all the same")
    sources = [item["source"] for item in moved.applied("--port")["operations"]]
    assert "sample_pkg/layers/logging_utils.py" in sources


def test_a_watch_follows_the_development(moved: LocalScenario) -> None:
    with watching(moved, "--port") as watcher:
        watcher.until("applied")
        assert moved.answer() == "generation 2: 2.0"
        moved.edit_generation(3)
        watcher.until("applied")
        moved.project.commit("Committed: nothing to do, and nothing in the way")
        moved.edit_generation(4)
        moment = watcher.until("applied")
        assert [item["source"] for item in moment["result"]["operations"]] == [ENGINE]
        assert moved.answer() == "generation 4: 2.0"
        assert {item["event"] for item in watcher.seen} <= {"watching", "applied", "unchanged"}


@pytest.mark.parametrize("change", ["moved", "added", "removed"])
def test_a_submodule_of_the_branch_is_not_lost(local: LocalScenario, tmp_path: Path, change: str) -> None:
    """It is checked out in no linked worktree, and a push from there needs a rebuild all the same."""
    library = Repository(tmp_path / "library")
    library.write("kernel.cu", "1\n")
    library.commit()
    project = local.project
    if change != "added":
        project.git(
            "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.path), "lib"
        )
        local.options = ["--image-commit", project.commit("Vendor")]
    project.git("switch", "--quiet", "--create", "feature")
    local.edit_generation()
    project.commit("Generation")
    assert local.applied("--port")["operations"]
    if change == "moved":
        inner = Repository(project.path / "lib")
        inner.write("kernel.cu", "2\n")
        inner.commit()
    elif change == "removed":
        project.git("rm", "--quiet", "lib")
    else:
        project.git(
            "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.path), "lib"
        )
    project.commit("Submodule")
    answer = local.refused("--port")
    assert (answer["exit_code"], codes(answer)) == (3, ["submodule-change"])
    assert "lib" in [problem["path"] for problem in answer["problems"]]
    project.git("revert", "--no-edit", "HEAD")
    shutil.rmtree(project.path / "lib", ignore_errors=True)
    if change != "added":
        (project.path / "lib").mkdir()  # not checked out
    assert local.push("--port")["outcome"] == "unchanged"


def test_remedies_hold_in_the_development_worktree(moved: LocalScenario) -> None:
    """HEAD's file would bring the committed change back, and the linked worktree is no place to edit."""
    moved.project.write("csrc/kernel.c", "int kernel;\n")
    moved.project.commit("Native")
    answer = moved.refused("--port")
    [step] = [problem["next_step"] for problem in answer["problems"] if problem["code"] == "native-change"]
    assert str(moved.project.path) in step
    assert "HEAD" not in step
    moved.project.git("checkout", "--quiet", moved.options[1], "--", "csrc/kernel.c")
    answer = moved.applied("--port")
    assert any("which carries feature" in note for note in answer["details"]["notes"])


def test_what_a_later_commit_removed_or_added_is_the_image_commits_and_no_news_of_it(
    moved: LocalScenario,
) -> None:
    """What is installed is compared with the commit that it was built from, whatever HEAD is."""
    project = moved.project
    (project.path / "sample_pkg/models/tiny.py").unlink()
    project.write("sample_pkg/models/large.py", "LARGE = 1\n")
    project.commit("One goes, one comes")
    details = moved.ask("status")["details"]
    assert details["missing"] == []
    assert not [text for text in details["generated"] if "tiny.py" in text]
    [version] = [text for text in details["generated"] if "_version.py" in text]
    assert version.endswith("generated by the build, not from the image commit; left alone")
