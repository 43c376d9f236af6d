"""git changes many files at once, holds its index, moves HEAD: a watch holds still, and goes on by itself."""

from __future__ import annotations

import pytest

from tests.e2e.scenario import LocalScenario
from tests.e2e.watcher import watching

ENGINE = "sample_pkg/engine.py"


def test_while_git_holds_the_index_nothing_is_looked_at(local: LocalScenario) -> None:
    lock = local.project.path / ".git" / "index.lock"
    with watching(local) as watcher:
        watcher.until("unchanged")
        lock.touch()
        local.edit_generation()
        moment = watcher.next()
        assert (moment["event"], "git is at work" in moment["message"]) == ("paused", True)
        assert local.answer() == "generation 1: 1.0"
        lock.unlink()
        assert watcher.until("applied")["result"]["operations"][0]["source"] == ENGINE
        assert local.answer() == "generation 2: 1.0"


def test_head_moves_away_and_comes_back(local: LocalScenario) -> None:
    start = local.project.head
    local.edit_generation()
    with watching(local) as watcher:
        watcher.until("applied")
        local.project.commit("Two")
        moment = watcher.until("paused")
        assert "head-differs" in {problem["code"] for problem in moment["result"]["problems"]}
        assert "--port" in moment["next_step"]
        local.edit_generation(3)
        assert watcher.is_silent(1)
        assert local.answer() == "generation 2: 1.0"
        local.project.git("reset", "--quiet", "--soft", start)
        assert watcher.until("applied")
        assert local.answer() == "generation 3: 1.0"


def test_a_branch_is_one_change(local: LocalScenario) -> None:
    """Checking out another commit is HEAD's move and not hundreds of edits; back again, nothing is left."""
    start = local.project.head
    for number in range(100):
        local.project.write(f"sample_pkg/many/m{number}.py", f"NUMBER = {number}\n")
    local.project.write("sample_pkg/many/__init__.py", "")
    local.project.git("switch", "--quiet", "--create", "other")
    local.project.commit("Many")
    local.project.git("switch", "--quiet", "--detach", start)
    with watching(local) as watcher:
        watcher.until("unchanged")
        local.project.git("switch", "--quiet", "other")
        watcher.until("paused")
        local.project.git("switch", "--quiet", "--detach", start)
        watcher.until("unchanged")
        assert "applied" not in {moment["event"] for moment in watcher.seen}


@pytest.mark.parametrize("end", ["--abort", "--continue"])
def test_a_rebase_with_conflicts(local: LocalScenario, end: str) -> None:
    start = local.project.head
    local.project.git("switch", "--quiet", "--create", "theirs")
    local.edit_generation(7)
    theirs = local.project.commit("Theirs")
    local.project.git("switch", "--quiet", "--create", "mine", start)
    with watching(local) as watcher:
        watcher.until("unchanged")
        local.edit_generation(2)
        watcher.until("applied")
        local.project.commit("Mine")
        watcher.until("paused")
        with pytest.raises(RuntimeError, match="onflict"):
            local.project.git("rebase", "--quiet", theirs)
        watcher.until("paused", saying="rebase")
        assert "<<<<<<<" in (local.project.path / ENGINE).read_text()
        if end == "--continue":
            local.edit_generation(3)
            local.project.git("checkout", "--quiet", "--theirs", "--", ENGINE)
            local.project.git("add", ENGINE)
        local.project.git("-c", "core.editor=true", "rebase", end)
        assert "head-differs" in str(watcher.until("paused", saying="HEAD"))
        assert local.answer() == "generation 2: 1.0"  # of conflict markers nothing ever arrives
        local.project.git("reset", "--quiet", "--hard", start)
        watcher.until("applied")
        assert local.answer() == "generation 1: 1.0"


def test_a_merge_that_is_aborted(local: LocalScenario) -> None:
    start = local.project.head
    local.project.git("switch", "--quiet", "--create", "theirs")
    local.project.write("sample_pkg/layers/theirs.py", "THEIRS = 1\n")
    local.project.commit("Theirs")
    local.project.git("switch", "--quiet", "--detach", start)
    with watching(local) as watcher:
        watcher.until("unchanged")
        local.project.git("merge", "--quiet", "--no-commit", "--no-ff", "theirs")
        watcher.until("paused", saying="merge")
        local.project.git("merge", "--abort")
        watcher.until("unchanged")
        local.edit_generation()
        watcher.until("applied")
