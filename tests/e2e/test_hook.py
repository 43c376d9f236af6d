"""The pre-push hook, run by real pushes to a real remote."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from overlaysync.app.hook_script import script
from tests.e2e.scenario import LocalScenario, Scenario, Stage, check_answer
from tests.e2e.test_several_targets import beside
from tests.parts.repositories import Repository

ENGINE, NORM = "sample_pkg/engine.py", "sample_pkg/layers/norm.py"


class Pushed:
    """How a ``git push`` ended, and what the hook said."""

    def __init__(self, repository: Repository, *arguments: str, **variables: str) -> None:
        self.done = subprocess.run(
            ["git", "push", "--porcelain", *arguments],
            cwd=repository.path,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.went = self.done.returncode == 0
        self.said = self.done.stdout + self.done.stderr
        assert "Traceback" not in self.said


@pytest.fixture
def hooked(local: LocalScenario, tmp_path: Path) -> LocalScenario:
    """The repository with a bare remote, and the hook in it."""
    add_remote(local.project, tmp_path)
    assert local.cli("-C", local.project.path, "hook", "install").exit_code == 0
    local.project.git("switch", "--quiet", "--create", "feature")
    return local


def add_remote(project: Repository, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", "--bare", tmp_path / "remote.git"], check=True)
    project.git("remote", "add", "origin", str(tmp_path / "remote.git"))


def ran_and_committed(local: LocalScenario, *options: str) -> None:
    local.edit_generation()
    local.project.write("sample_pkg/layers/drop.py", "RATE = 0.5\n")
    local.applied(*options)
    local.project.commit("Two")


def test_what_ran_is_pushed(hooked: LocalScenario) -> None:
    ran_and_committed(hooked)
    pushed = Pushed(hooked.project, "origin", "feature")
    assert (pushed.went, "nothing stands in the way" in pushed.said) == (True, True), pushed.said


def test_another_content_is_stopped_with_the_list_and_the_next_step(hooked: LocalScenario) -> None:
    ran_and_committed(hooked)
    hooked.edit_generation(3)
    hooked.project.edit("layers/norm.py", "/ 8", "/ 4")
    hooked.project.commit("Never ran")
    pushed = Pushed(hooked.project, "origin", "feature")
    assert not pushed.went
    said = " ".join(pushed.said.split())
    again = f"{hooked.typed('push', *hooked.options)} --port"
    for words in ("differs-from-run", ENGINE, "never-ran", NORM, again, "--no-verify"):
        assert words in said, words
    assert not Path(hooked.project.git("remote", "get-url", "origin"), "refs/heads/feature").exists()
    hooked.applied("--port")  # what it says leads to the goal
    assert Pushed(hooked.project, "origin", "feature").went


def test_a_removed_file_and_one_that_came_back(hooked: LocalScenario) -> None:
    (hooked.project.path / "sample_pkg/models/tiny.py").unlink()
    hooked.applied()
    hooked.edit_generation()
    hooked.project.git("checkout", "--quiet", "--", "sample_pkg/models/tiny.py")
    hooked.project.git("checkout", "--quiet", "--", ENGINE)
    pushed = Pushed(hooked.project, "origin", "feature")
    assert (pushed.went, "sample_pkg/models/tiny.py" in pushed.said) == (False, True)
    (hooked.project.path / "sample_pkg/models/tiny.py").unlink()
    hooked.project.commit("Gone")
    assert Pushed(hooked.project, "origin", "feature").went


def test_files_that_no_wheel_holds_and_native_ones(hooked: LocalScenario) -> None:
    """The first do not count, the others are named: they need a rebuild, which the push may well be for."""
    ran_and_committed(hooked)
    hooked.project.write("tests/test_new.py", "def test_new(): pass\n")
    hooked.project.write("docs/notes.md", "Notes\n")
    hooked.project.write("csrc/kernel.c", "int kernel;\n")
    hooked.project.commit("Around it")
    pushed = Pushed(hooked.project, "origin", "feature")
    assert (pushed.went, "needs an image rebuild: csrc/kernel.c" in pushed.said) == (True, True), pushed.said


def test_every_kind_of_ref(hooked: LocalScenario) -> None:
    project = hooked.project
    start = project.head
    ran_and_committed(hooked)
    good = project.head
    assert Pushed(project, "origin", "feature", "HEAD:refs/heads/other").went  # new, several at once
    project.git("tag", "--annotate", "--message", "Tag", "v2", good)
    project.git("tag", "light", good)
    project.git("tag", "blob", f"{good}:{ENGINE}")
    assert Pushed(project, "origin", "v2", "light", "blob").went
    hooked.edit_generation(9)
    bad = project.commit("Nine")
    assert not Pushed(project, "origin", "v2", f"{bad}:refs/heads/third").went  # one of several
    project.git("tag", "--annotate", "--message", "Tag", "v3", bad)
    assert not Pushed(project, "origin", "v3").went
    assert Pushed(project, "origin", "--delete", "other").went
    assert Pushed(project, "--force", "origin", f"{good}:refs/heads/feature").went
    root = project.git("commit-tree", "-m", "Root", f"{good}^{{tree}}")
    assert Pushed(project, "origin", f"{root}:refs/heads/root").went
    other_root = project.git("commit-tree", "-m", "Root", f"{bad}^{{tree}}")
    assert not Pushed(project, "origin", f"{other_root}:refs/heads/root").went
    assert not Pushed(project, "origin", f"{start}:refs/heads/start").went  # the overlay is not in it


def neutral(pushed: Pushed) -> bool:
    """It went, and nothing reads like a proof."""
    return pushed.went and "• not compared: " in pushed.said and "✓" not in pushed.said


def test_where_nothing_ever_ran_nothing_is_compared(hooked: LocalScenario) -> None:
    """A repository without a container is pushed as ever; and is told how to have it proven."""
    hooked.edit_generation()
    hooked.project.commit("Two")
    pushed = Pushed(hooked.project, "origin", "feature")
    assert neutral(pushed), pushed.said
    assert "no overlay of this repository is recorded; to have" in pushed.said
    assert neutral(Pushed(hooked.project, "origin", "--delete", "feature"))
    hooked.project.git("switch", "--quiet", "--detach", hooked.options[1])
    hooked.edit_generation()
    hooked.applied()
    pushed = Pushed(hooked.project, "origin", "feature")
    assert (pushed.went, "✓ nothing stands in the way" in pushed.said) == (True, True), pushed.said
    assert "compared with what ran: sample-pkg" in pushed.said


@pytest.mark.parametrize("way", ["revert", "push"])
def test_after_an_overlay_was_taken_away(hooked: LocalScenario, way: str) -> None:
    """What ran before it may go, and so may what has the image's own Python; what never ran may not."""
    project = hooked.project
    project.write("docs/notes.md", "Notes\n")
    notes = project.commit("Notes")
    ran_and_committed(hooked, "--port")
    good = project.head
    hooked.edit_generation(7)
    bad = project.commit("Never ran")
    if way == "push":
        project.git("switch", "--quiet", "--detach", hooked.options[1])
    assert hooked.ask(way)["outcome"] == "applied"
    for commit, goes in ((good, True), (notes, True), (bad, False)):
        pushed = Pushed(project, "origin", f"{commit}:refs/heads/{commit}")
        assert pushed.went is goes, pushed.said
        assert ("✓ nothing stands in the way" in pushed.said) is goes
        assert f"the last {way}, " in pushed.said
        assert "compared with what ran before it, the overlay " in pushed.said
    assert "differs-from-run" in pushed.said
    hooked.edit_generation(5)
    hooked.applied("--port")  # another one is there: what was taken away counts no more
    assert not Pushed(project, "origin", f"{good}:refs/heads/later").went


def test_after_a_revert_whose_overlay_is_not_recorded_here(hooked: LocalScenario) -> None:
    """As where another host pushed it."""
    ran_and_committed(hooked)
    [record] = Path(os.environ["XDG_STATE_HOME"], "overlaysync").glob("*/*.json")
    project = hooked.project
    project.git("switch", "--quiet", "--detach", hooked.options[1])
    hooked.ask("revert")
    whole = record.read_text()
    record.unlink()
    pushed = Pushed(project, "origin", "feature")
    assert (neutral(pushed), "what ran before is not recorded here" in pushed.said) == (True, True)
    record.write_text(whole)
    assert "✓ nothing stands in the way" in Pushed(project, "origin", "feature:refs/heads/again").said


def test_a_push_that_left_the_images_own_is_what_ran(hooked: LocalScenario) -> None:
    """Of another clone's overlay, of which nothing is recorded here."""
    ran_and_committed(hooked)
    [record] = Path(os.environ["XDG_STATE_HOME"], "overlaysync").glob("*/*.json")
    project = hooked.project
    project.git("switch", "--quiet", "--detach", hooked.options[1])
    hooked.applied()
    record.unlink()
    pushed = Pushed(project, "origin", "feature")
    assert (pushed.went, "never-ran" in pushed.said) == (False, True), pushed.said
    pushed = Pushed(project, "origin", "HEAD:refs/heads/own")
    assert (pushed.went, "compared with the image's own Python" in pushed.said) == (True, True), pushed.said


def test_what_ran_in_an_older_overlay_is_not_told_as_never_ran(hooked: LocalScenario) -> None:
    project, image = hooked.project, hooked.options[1]
    ran_and_committed(hooked)
    (project.path / "sample_pkg/models/tiny.py").unlink()
    project.write("sample_pkg/layers/crlf.py", b"A = 1\r\n")
    project.git("config", "core.autocrlf", "true")
    hooked.applied("--port")
    project.commit("All that ran first")
    project.git("switch", "--quiet", "--detach", image)
    hooked.edit_generation(3)
    hooked.applied()
    pushed = Pushed(project, "origin", "feature")
    assert (pushed.went, "never-ran" in pushed.said) == (False, False), pushed.said
    said = " ".join(pushed.said.split())
    for path in ("sample_pkg/models/tiny.py", "sample_pkg/layers/drop.py", "sample_pkg/layers/crlf.py"):
        assert f"{path} of refs/heads/feature differs from the image commit; as pushed it ran in the" in said
    assert f"{ENGINE} is " in said
    assert ", where it ran last; as pushed it ran in the overlay " in said
    project.git("switch", "--quiet", "--force", "feature")
    project.write("sample_pkg/layers/drop.py", "RATE = 0.7\n")
    project.commit("And this never did")
    said = " ".join(Pushed(project, "origin", "feature").said.split())
    assert "never-ran" in said
    assert "drop.py of refs/heads/feature differs from the image commit and is in no recorded overlay" in said


def test_of_two_overlays_that_differ_the_older_one_can_be_taken_away(
    hooked: LocalScenario, tmp_path: Path
) -> None:
    """No commit can be what ran in both; which of them is of use, only a person knows."""
    newer = beside(hooked, tmp_path / "second")
    hooked.edit_generation(9)
    hooked.applied()
    hooked.edit_generation()
    newer.applied()
    hooked.project.commit("Two")
    pushed = Pushed(hooked.project, "origin", "feature")
    said = " ".join(pushed.said.split())
    assert (pushed.went, said.count("differs-from-run")) == (False, 1), said
    away = hooked.typed("revert")
    assert f"if nothing is to run in {hooked.target} any more: {away}; else commit what ran" in said
    assert hooked.ask("revert")["outcome"] == "applied"
    pushed = Pushed(hooked.project, "origin", "feature")
    assert (pushed.went, "✓" in pushed.said) == (True, True), pushed.said


def test_what_ran_from_a_ported_worktree_that_is_gone_ran(hooked: LocalScenario) -> None:
    hooked.edit_generation()
    hooked.project.commit("Two")
    hooked.applied("--port")
    place = hooked.project.git("worktree", "list", "--porcelain").split("worktree ")[-1].splitlines()[0]
    hooked.project.git("worktree", "remove", "--force", place)
    hooked.edit_generation(3)
    hooked.project.commit("Three")
    pushed = Pushed(hooked.project, "origin", "feature")
    assert (pushed.went, "differs-from-run" in pushed.said) == (False, True), pushed.said


def test_a_record_that_cannot_be_read_is_no_record_of_nothing(hooked: LocalScenario) -> None:
    ran_and_committed(hooked)
    [record] = Path(os.environ["XDG_STATE_HOME"], "overlaysync").glob("*/*.json")
    whole = record.read_text()
    record.write_text(whole[:-10])
    pushed = Pushed(hooked.project, "origin", "feature")
    assert (pushed.went, "overlay-damaged" in pushed.said, str(record) in pushed.said) == (False, True, True)
    record.write_text(whole)
    assert Pushed(hooked.project, "origin", "feature").went


def test_warn_and_off(hooked: LocalScenario) -> None:
    ran_and_committed(hooked)
    hooked.edit_generation(3)
    hooked.project.commit("Three")
    assert not Pushed(hooked.project, "origin", "feature").went
    hooked.project.write("overlaysync.toml", 'pre-push = "warn"\n')
    pushed = Pushed(hooked.project, "origin", "feature:warned")
    assert (pushed.went, "differs-from-run" in pushed.said, "✓" in pushed.said) == (True, True, False)
    hooked.project.write("overlaysync.toml", 'pre-push = "off"\n')
    pushed = Pushed(hooked.project, "origin", "feature:off")
    assert (neutral(pushed), "switched off" in pushed.said) == (True, True)
    hooked.project.write("overlaysync.toml", 'pre-push = "maybe"\n')
    pushed = Pushed(hooked.project, "origin", "feature:wrong")
    assert (pushed.went, "pre-push" in pushed.said) == (False, True)


def test_what_cannot_be_compared(hooked: LocalScenario) -> None:
    """Here: HEAD has no commit. A warning lets the push go; a mode that is none is no warning."""
    ran_and_committed(hooked)
    hooked.project.git("switch", "--quiet", "--orphan", "empty")
    for mode, goes in (("stop", False), ("warn", True), ("wrn", False), ("off", True)):
        hooked.project.write("overlaysync.toml", f'pre-push = "{mode}"\n')
        pushed = Pushed(hooked.project, "origin", f"feature:{mode}")
        assert (pushed.went, "no commit" in pushed.said) == (goes, mode in ("stop", "warn")), pushed.said
        assert ("was not compared with what ran" in pushed.said) == (mode == "warn")


def test_a_target_that_has_it_no_more(hooked: LocalScenario) -> None:
    ran_and_committed(hooked)
    place = hooked.environment.site_packages / ENGINE
    content = place.read_bytes()
    place.write_text("somebody else's\n")
    pushed = Pushed(hooked.project, "origin", "feature")
    assert (pushed.went, "overlay-gone" in pushed.said, ENGINE in pushed.said) == (False, True, True)
    assert f"to have it there again: {hooked.typed('push')}" in " ".join(pushed.said.split())
    place.write_bytes(content)
    hooked.environment.prefix.rename(hooked.environment.prefix.with_name("away"))
    pushed = Pushed(hooked.project, "origin", "feature")  # it does not answer: the record is compared
    assert (pushed.went, "does not answer" in pushed.said) == (True, True), pushed.said


@pytest.mark.container
def test_in_a_container_and_after_it(scenario: Scenario, tmp_path: Path) -> None:
    add_remote(scenario.project, tmp_path)
    scenario.cli("-C", scenario.project.path, "hook", "install")
    scenario.edit_generation()
    scenario.applied()
    scenario.project.commit("Two")
    assert Pushed(scenario.project, "origin", "HEAD:refs/heads/one").went
    scenario.container.remove()
    pushed = Pushed(scenario.project, "origin", "HEAD:refs/heads/two")
    assert (pushed.went, "does not answer" in pushed.said) == (True, True)


@pytest.mark.container
def test_a_container_that_is_stopped_keeps_its_overlay(stage: Stage, tmp_path: Path) -> None:
    """One that was removed does not."""
    project = stage.project()
    tag = stage.image(project)
    first, second = (stage.start(project, tag) for _ in range(2))
    add_remote(project, tmp_path)
    first.cli("-C", project.path, "hook", "install")
    first.edit_generation(2)
    first.applied()
    second.edit_generation(3)
    second.applied()
    project.commit("Three")
    assert not Pushed(project, "origin", "HEAD:refs/heads/one").went
    first.container.stop()
    pushed = Pushed(project, "origin", "HEAD:refs/heads/one")
    assert (pushed.went, first.target in pushed.said) == (False, True), pushed.said
    first.container.remove()
    assert Pushed(project, "origin", "HEAD:refs/heads/one").went


def test_a_linked_worktree_knows_what_ran(hooked: LocalScenario, tmp_path: Path) -> None:
    ran_and_committed(hooked)
    hooked.project.git("worktree", "add", "--quiet", "-b", "aside", str(tmp_path / "aside"))
    aside = Repository(tmp_path / "aside")
    assert Pushed(aside, "origin", "aside").went
    aside.write(ENGINE, "GENERATION = 9\n")
    aside.commit("Nine")
    assert not Pushed(aside, "origin", "aside").went


FOREIGN = '#!/bin/sh\ncat > foreign-input; echo "$1" > foreign-arguments; exit $(cat foreign-exit)\n'


def test_a_foreign_hook_is_kept_and_runs_first(local: LocalScenario, tmp_path: Path) -> None:
    add_remote(local.project, tmp_path)
    hook = local.project.path / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(FOREIGN)
    hook.chmod(0o755)
    for _ in range(2):  # installed again, it knows its own
        answer = local.cli("-C", local.project.path, "hook", "install")
        assert (answer.exit_code, "runs first" in answer.stdout) == (0, True)
    (local.project.path / "foreign-exit").write_text("0")
    ran_and_committed(local)
    assert Pushed(local.project, "origin", "HEAD:refs/heads/one").went
    assert local.project.head in (local.project.path / "foreign-input").read_text()
    assert (local.project.path / "foreign-arguments").read_text() == "origin\n"
    (local.project.path / "foreign-exit").write_text("7")
    assert not Pushed(local.project, "origin", "HEAD:refs/heads/two").went
    assert local.cli("-C", local.project.path, "hook", "install", "--uninstall").exit_code == 0
    assert hook.read_text() == FOREIGN
    assert [path.name for path in hook.parent.iterdir() if "overlaysync" in path.name] == []
    answer = local.cli("-C", local.project.path, "hook", "install", "--uninstall")
    assert (answer.exit_code, "is no hook of overlaysync" in answer.stdout) == (0, True)
    assert hook.read_text() == FOREIGN


def test_a_full_disk_leaves_a_foreign_hook_in_place(local: LocalScenario) -> None:
    hook = local.project.path / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(FOREIGN)
    limits = 'ulimit -f 0; exec "$@"'  # no file of this process may hold a byte
    line = [sys.executable, "-m", "overlaysync", "-C", str(local.project.path), "hook", "install"]
    done = subprocess.run(["sh", "-c", limits, "sh", *line], capture_output=True, text=True, check=False)
    assert (done.returncode, "cannot be changed" in done.stderr) == (2, True), done.stderr
    assert hook.read_text() == FOREIGN
    assert not [path for path in hook.parent.iterdir() if path.name.startswith((".", "pre-push.before"))]


@pytest.mark.parametrize("relative", [True, False])
def test_core_hooks_path(local: LocalScenario, tmp_path: Path, relative: bool) -> None:
    add_remote(local.project, tmp_path)
    local.project.git("config", "core.hooksPath", ".hooks" if relative else str(tmp_path / "shared"))
    answer = local.cli("-C", local.project.path / "sample_pkg", "hook", "install", "--json").json()
    assert answer["outcome"] == "applied"
    place = (local.project.path / ".hooks" if relative else tmp_path / "shared") / "pre-push"
    assert answer["details"]["hook"] == str(place)
    assert place.stat().st_mode & 0o111
    ran_and_committed(local)
    assert "nothing stands in the way" in Pushed(local.project, "origin", "HEAD:refs/heads/one").said


def test_a_hook_without_its_program(hooked: LocalScenario) -> None:
    hook = hooked.project.path / ".git/hooks/pre-push"
    hook.write_text(script("/nowhere/overlaysync"))
    pushed = Pushed(hooked.project, "origin", "feature")
    assert (pushed.went, "--no-verify" in pushed.said) == (False, True)


def test_the_committed_hook_is_the_installed_one() -> None:
    committed = Path(__file__).parents[2] / "hooks" / "pre-push"
    assert committed.read_text() == script("overlaysync")
    assert committed.stat().st_mode & 0o111


def test_where_there_is_no_repository(local: LocalScenario, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    answer = check_answer(local.cli("-C", tmp_path / "plain", "hook", "install", "--json"))
    assert (answer["command"], answer["exit_code"]) == ("hook install", 2)


def test_through_the_pre_commit_framework(local: LocalScenario, tmp_path: Path) -> None:
    pytest.importorskip("pre_commit")
    add_remote(local.project, tmp_path)
    entry = f"{sys.executable} -m overlaysync hook pre-push"
    local.project.write(
        ".pre-commit-config.yaml",
        "repos:\n- repo: local\n  hooks:\n  - {id: overlaysync, name: overlaysync, language: system, "
        f"entry: '{entry}', stages: [pre-push], always_run: true, pass_filenames: false, verbose: true}}\n",
    )
    local.project.git("add", ".pre-commit-config.yaml")
    install = [sys.executable, "-m", "pre_commit", "install", "--hook-type", "pre-push"]
    subprocess.run(install, cwd=local.project.path, check=True, capture_output=True)
    ran_and_committed(local)
    pushed = Pushed(local.project, "origin", "HEAD:refs/heads/one")
    assert (pushed.went, "nothing stands in the way" in pushed.said) == (True, True), pushed.said
    local.edit_generation(3)
    local.project.commit("Three")
    pushed = Pushed(local.project, "origin", "HEAD:refs/heads/one")
    assert (pushed.went, "differs-from-run" in pushed.said) == (False, True), pushed.said


def test_line_ends_that_git_converts_are_no_difference(hooked: LocalScenario) -> None:
    """A new file ran with CRLF, and git keeps it with LF; any other difference is one."""
    project = hooked.project
    project.git("config", "core.autocrlf", "true")
    project.write("sample_pkg/layers/drop.py", b"RATE = 0.5\r\nSEED = 1\r\n")
    hooked.applied()
    project.commit("CRLF")
    assert project.git_bytes("show", "HEAD:sample_pkg/layers/drop.py") == b"RATE = 0.5\nSEED = 1\n"
    pushed = Pushed(project, "origin", "feature")
    assert pushed.went, pushed.said
    project.write("sample_pkg/layers/drop.py", b"RATE = 0.6\r\nSEED = 1\r\n")
    project.commit("Another rate")
    assert "differs-from-run" in Pushed(project, "origin", "feature").said


def test_a_branch_that_is_no_development_of_the_package(hooked: LocalScenario) -> None:
    """As one of pages; one that only removed the package is."""
    ran_and_committed(hooked)
    project = hooked.project
    project.git("switch", "--quiet", "--orphan", "pages")
    project.write("index.html", "<p>\n")
    project.commit("Pages")
    pushed = Pushed(project, "origin", "pages")
    assert (neutral(pushed), "holds nothing of sample-pkg" in pushed.said) == (True, True), pushed.said
    project.git("switch", "--quiet", "--force", "--create", "emptied", "feature")
    project.git("rm", "-r", "--quiet", "sample_pkg")
    project.commit("Nothing left")
    assert "differs-from-run" in Pushed(project, "origin", "emptied").said
