"""Saves arrive, proven; what cannot arrive is told once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from pathlib import Path

import pytest

from overlaysync.app.follow import PEEK_SECONDS
from overlaysync.app.telling import CHANGED, UNSEEN
from overlaysync.watching.files import POLL_SECONDS
from tests.e2e import relay
from tests.e2e.scenario import LocalScenario, codes
from tests.e2e.watcher import Watcher, watching

ENGINE = "sample_pkg/engine.py"


def sources(moment: dict[str, dict[str, list[dict[str, str]]]]) -> list[str]:
    return [operation["source"] for operation in moment["result"]["operations"]]


def test_a_save_arrives(local: LocalScenario) -> None:
    with watching(local) as watcher:
        assert watcher.next()["event"] == "unchanged"
        for generation in (2, 3):
            local.edit_generation(generation)
            moment = watcher.next()
            assert (moment["event"], sources(moment)) == ("applied", [ENGINE])
            assert moment["latency_ms"] > 0
            assert local.answer() == f"generation {generation}: 1.0"
        assert watcher.end() == 0
    assert local.push()["outcome"] == "unchanged"


def test_what_was_there_at_the_start_arrives(local: LocalScenario) -> None:
    local.edit_generation()
    with watching(local) as watcher:
        assert watcher.next()["event"] == "applied"
        assert local.answer() == "generation 2: 1.0"


def atomically(path: Path, text: str) -> None:
    """As editors save: another file takes the place."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text)
    beside.rename(path)


def test_every_way_of_saving(local: LocalScenario) -> None:
    package = local.project.path / "sample_pkg"
    with watching(local) as watcher:
        watcher.until("unchanged")
        atomically(package / "engine.py", (package / "engine.py").read_text().replace("= 1", "= 2"))
        assert sources(watcher.until("applied")) == [ENGINE]
        (package / "fresh" / "deep").mkdir(parents=True)
        (package / "fresh/__init__.py").write_text("")
        (package / "fresh/deep/__init__.py").write_text("DEEP = 1\n")
        assert arrives(watcher, local, "sample_pkg/fresh/deep/__init__.py")
        (package / "fresh/deep/__init__.py").write_text("DEEP = 2\n")
        watcher.until("applied")
        (package / "fresh/deep/__init__.py").unlink()
        watcher.until("applied", saying="applied: sample_pkg/fresh/deep/__init__.py (removed)")
        assert "sample_pkg/fresh/deep/__init__.py" not in local.files()
        local.project.git("checkout", "--quiet", "--", ".")
        watcher.until("applied", saying=f"applied: {ENGINE} (original again)")
        assert local.answer() == "generation 1: 1.0"


def arrives(watcher: Watcher, local: LocalScenario, name: str) -> bool:
    while name not in local.files():
        watcher.until("applied")
    return True


def test_a_refusal_is_told_once_and_is_over_by_itself(local: LocalScenario) -> None:
    with watching(local) as watcher:
        watcher.until("unchanged")
        local.project.write("csrc/kernel.c", "int kernel;\n")
        moment = watcher.next()
        assert (moment["event"], moment["result"]["exit_code"]) == ("refused", 3)
        assert "csrc/kernel.c" in moment["message"]
        assert moment["next_step"]
        local.edit_generation()  # no part of a set is ever applied
        assert watcher.is_silent(1.5)
        assert local.answer() == "generation 1: 1.0"
        (local.project.path / "csrc/kernel.c").unlink()
        local.project.git("checkout", "--quiet", "--", "csrc")
        assert sources(watcher.until("applied")) == [ENGINE]
        assert local.answer() == "generation 2: 1.0"


def test_a_look_that_is_refused_keeps_nobody_out(local: LocalScenario) -> None:
    """From the second one on a look is prepared ahead, with the lock taken before anything is judged."""
    with watching(local) as watcher:
        watcher.until("unchanged")
        local.edit_generation()
        watcher.until("applied")
        local.project.write("csrc/kernel.c", "int kernel;\n")
        assert watcher.until("refused")["result"]["exit_code"] == 3
        assert local.refused()["exit_code"] == 3  # and not 9
        assert local.ask("revert")["outcome"] == "applied"
    assert local.answer() == "generation 1: 1.0"


def test_another_content_is_judged_anew(local: LocalScenario) -> None:
    """What was judged at an earlier look is recalled by content, not by name, size and time."""
    engine = local.project.path / ENGINE
    local.edit_generation()
    good, times = engine.read_text(), engine.stat()
    broken = good.replace("GENERATION = 2", "GENERATION = (")
    with watching(local) as watcher:
        watcher.until("applied")
        for _ in range(2):
            engine.write_text(broken)
            os.utime(engine, ns=(times.st_atime_ns, times.st_mtime_ns))
            assert engine.stat().st_size == times.st_size
            assert codes(watcher.until("refused")["result"]) == ["syntax-error"]
            engine.write_text(good)
            os.utime(engine, ns=(times.st_atime_ns, times.st_mtime_ns))
            watcher.until("unchanged")
    assert local.answer() == "generation 2: 1.0"


def test_a_changed_configuration_counts_at_once(local: LocalScenario) -> None:
    """A refusal names the line to write: writing it must be enough."""
    local.project.write("sample_pkg/extra.py", "EXTRA = 1\n")
    package = '[[package]]\ndistribution = "sample-pkg"\n'
    with watching(local) as watcher:
        watcher.until("applied")
        assert "sample_pkg/extra.py" in local.files()
        local.project.write("overlaysync.toml", f'{package}not-shipped = ["sample_pkg/extra.py"]\n')
        watcher.until("applied")
        assert "sample_pkg/extra.py" not in local.files()
        local.project.write("overlaysync.toml", f'{package}not-shiped = ["sample_pkg/extra.py"]\n')
        assert "not-shiped" in watcher.until("refused")["message"]
        local.project.write("overlaysync.toml", package)
        watcher.until("applied")
        assert "sample_pkg/extra.py" in local.files()


def test_continuous_writing_arrives_within_the_bound(local: LocalScenario) -> None:
    with watching(local, "--bound-ms", "400") as watcher:
        watcher.until("unchanged")
        first = time.monotonic()
        while time.monotonic() < first + 3:
            local.project.write("sample_pkg/data/log.json", f'{{"at": {time.monotonic()}}}\n')
            local.edit_generation(2 + int(10 * (time.monotonic() - first)))
            time.sleep(0.02)
        moment = watcher.next(0.1)
        told = [moment]
        while not watcher.is_silent(2):
            told.append(watcher.seen[-1])
        assert {item["event"] for item in told} <= {"applied", "waiting", "unchanged"}
        assert len([item for item in told if item["event"] == "applied"]) >= 2
    assert local.push()["outcome"] == "unchanged"


def test_five_hundred_files_are_one_transaction(local: LocalScenario) -> None:
    for number in range(500):
        local.project.write(f"sample_pkg/many/m{number}.py", f"NUMBER = {number}\n")
    local.project.write("sample_pkg/many/__init__.py", "")
    local.project.git("stash", "push", "--quiet", "--include-untracked")
    # git holds no lock while it brings untracked files back; a busy machine takes longer than the bound
    with watching(local, "--bound-ms", "10000") as watcher:
        watcher.until("unchanged")
        local.project.git("stash", "pop", "--quiet")
        moment = watcher.next()
        assert (moment["event"], len(sources(moment))) == ("applied", 501)
        assert watcher.is_silent(1)


def test_what_comes_while_a_push_is_under_way_goes_with_it(local: LocalScenario) -> None:
    """Here: everything is staged, nothing is renamed."""
    late = local.project.path / "sample_pkg" / "late.py"
    write = f"(open({str(late)!r}, 'w').write('LATE = 1\\n'), time.sleep(0.3))"
    evil = f"(os.path.exists({str(late)!r}) or {write}, frame(reply))[1]"
    relay.install(local.environment.prefix, "begin", evil)
    with watching(local, "--bound-ms", "10000") as watcher:
        watcher.until("unchanged")
        local.edit_generation()
        moment = watcher.next()
        assert (moment["event"], sources(moment)) == ("applied", [ENGINE, "sample_pkg/late.py"])
        assert moment["latency_ms"] > 300


def test_another_worktrees_push_is_not_taken_back(local: LocalScenario) -> None:
    """Two watches of one target would else take turns for ever; by polling, every second."""
    other = replace(local, project=copy(local.project))
    other.project.path = local.cli.directory / "other"
    local.project.git("worktree", "add", "--quiet", str(other.project.path))
    with watching(local, "--poll") as watcher:
        watcher.until("unchanged")
        local.edit_generation(2)
        watcher.until("applied")
        other.edit_generation(3)
        other.applied()
        moment = watcher.next()
        assert (moment["event"], str(other.project.path) in moment["message"]) == ("paused", True)
        assert watcher.is_silent(3 * POLL_SECONDS)
        assert local.answer() == "generation 3: 1.0"
        assert other.ask("revert")["outcome"] == "applied"
        assert watcher.is_silent(3 * POLL_SECONDS)
        assert local.answer() == "generation 1: 1.0"
        local.edit_generation(4)
        watcher.until("applied")
        assert local.answer() == "generation 4: 1.0"
        other.applied()
        watcher.until("paused")
        before = (local.project.path / ENGINE).read_text()
        local.project.write(ENGINE, "broken = (\n")
        watcher.until("refused")
        local.project.write(ENGINE, before)
        watcher.until("applied")  # the same as before, and wished for again
        assert local.answer() == "generation 4: 1.0"


def test_an_overlay_that_was_taken_away_is_told_and_stays_away(local: LocalScenario) -> None:
    """Long before the next look of its own; a change is a wish, and so is a push."""
    local.edit_generation(2)
    with watching(local) as watcher:
        assert watcher.until("applied")["in_target"] is None
        assert watcher.is_silent(PEEK_SECONDS + 2)  # what it did itself is no news
        assert local.ask("revert")["outcome"] == "applied"
        moment = watcher.next()
        assert (moment["event"], moment["in_target"]) == ("paused", CHANGED)
        assert "taken away" in moment["message"]
        assert local.typed("push", *local.options) in moment["next_step"]
        assert watcher.is_silent(PEEK_SECONDS + 2)
        assert local.answer() == "generation 1: 1.0"
        local.edit_generation(3)
        watcher.until("applied")
        assert local.answer() == "generation 3: 1.0"
    with watching(local, "--poll") as watcher:
        watcher.until("unchanged")
        local.ask("revert")
        watcher.until("paused")
        assert watcher.is_silent(3 * POLL_SECONDS)
        local.applied()
        assert watcher.until("unchanged")["in_target"] is None


@pytest.mark.parametrize("trouble", ["native", "merge"])
def test_it_is_told_too_where_a_push_is_refused_anyway(local: LocalScenario, trouble: str) -> None:
    """Of a merge that has stopped, the target is not looked at."""
    place = "csrc/kernel.c" if trouble == "native" else ".git/MERGE_HEAD"
    event = "refused" if trouble == "native" else "paused"
    local.edit_generation(2)
    with watching(local) as watcher:
        watcher.until("applied")
        local.project.write(place, f"{local.project.head}\n")
        local.edit_generation(3)
        before = watcher.until(event)
        assert before["in_target"] is None
        assert watcher.is_silent(PEEK_SECONDS + 2)
        assert local.ask("revert")["outcome"] == "applied"
        moment = watcher.until(event)
        assert moment["message"] == before["message"]
        assert moment["in_target"] in (CHANGED, UNSEEN)
        assert watcher.is_silent(PEEK_SECONDS + 2)
        (local.project.path / place).unlink()
        local.project.git("checkout", "--quiet", "--", "csrc")
        local.edit_generation(4)
        watcher.until("applied")
    assert local.answer() == "generation 4: 1.0"


def test_another_worktrees_push_is_told_soon_and_once(local: LocalScenario) -> None:
    other = replace(local, project=copy(local.project))
    other.project.path = local.cli.directory / "other"
    local.project.git("worktree", "add", "--quiet", str(other.project.path))
    with watching(local) as watcher:
        watcher.until("unchanged")
        other.edit_generation(3)
        other.applied()
        moment = watcher.next()
        assert (moment["event"], moment["in_target"]) == ("paused", CHANGED)
        assert str(other.project.path) in moment["message"]
        other.edit_generation(4)
        other.applied()
        assert watcher.is_silent(PEEK_SECONDS + 2)
        assert local.answer() == "generation 4: 1.0"


def test_nor_is_that_of_another_machine(local: LocalScenario) -> None:
    """Whose worktree has the same path."""
    rename = 'hostname elsewhere && exec "$@"'
    elsewhere = ["unshare", "--user", "--map-root-user", "--uts", "sh", "-c", rename, "sh"]
    if subprocess.run([*elsewhere, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no user namespace is to be had here")
    local.edit_generation(2)
    with watching(local, before=elsewhere) as watcher:
        watcher.until("applied")
        lock = local.project.path / ".git/index.lock"
        lock.touch()  # it does not look at what happens meanwhile
        local.edit_generation(3)
        local.applied()
        local.edit_generation(2)
        lock.unlink()
        watcher.until("paused", saying=f"pushed from {os.uname().nodename}:{local.project.path}")
        assert local.answer() == "generation 3: 1.0"
        local.edit_generation(4)
        watcher.until("applied")
    assert local.answer() == "generation 4: 1.0"


def test_without_events_it_looks_regularly_and_says_so(local: LocalScenario) -> None:
    """A user namespace of its own lets the limit of watches be reached for this process alone."""
    limit = 'echo 3 > /proc/sys/user/max_inotify_watches && exec "$@"'
    before = ["unshare", "--user", "--map-root-user", "sh", "-c", limit, "sh"]
    if subprocess.run([*before, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no user namespace is to be had here")
    with watching(local, before=before) as watcher:
        assert "by polling" in watcher.seen[0]["message"]
        assert "max_user_watches" in watcher.seen[0]["message"]
        watcher.until("unchanged")
        local.edit_generation()
        assert watcher.until("applied", 10 * POLL_SECONDS)["latency_ms"]
        assert local.answer() == "generation 2: 1.0"


def test_what_is_wrong_at_the_start_ends_it(local: LocalScenario) -> None:
    line = ("-C", local.project.path, "watch", "--json", "--container")
    answer = local.cli(*line, "local:/nowhere")
    assert answer.exit_code == 7
    assert answer.json()["problems"][0]["next_step"]
    assert local.cli(*line, local.target, "--quiet-ms", "x").exit_code == 2
    assert local.cli("-C", local.cli.directory / "absent", "watch", "--container", "x").exit_code == 2
    local.project.write("overlaysync.toml", "[watch]\nquiet-ms = -1\n")
    wrong = local.cli(*line, local.target)
    assert (wrong.exit_code, "watch.quiet-ms" in wrong.stdout) == (2, True)


def test_ctrl_c_and_kill_leave_no_agent_and_no_lock(local: LocalScenario) -> None:
    for end in (2, 15, 9):
        with watching(local) as watcher:
            watcher.until("unchanged")
            os.kill(watcher.process.pid, end)
            assert watcher.process.wait(timeout=10) == (-9 if end == 9 else 0)
        local.edit_generation(end)
        assert local.push()["outcome"] == "applied"


def test_ctrl_c_in_the_middle_of_a_push_is_an_interruption(local: LocalScenario, tmp_path: Path) -> None:
    reached = tmp_path / "reached"
    relay.install(local.environment.prefix, "apply", f"hold({str(reached)!r})")
    with watching(local) as watcher:
        watcher.until("unchanged")
        local.edit_generation()
        wait_until(reached.exists)
        assert watcher.end() == 130
    wait_until(lambda: local.answer() == "generation 1: 1.0")


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("form", [["--json"], []])
def test_it_ends_when_nobody_reads_it_any_more(local: LocalScenario, form: list[str]) -> None:
    """As with ``| head``: that is no bug of anybody, and the target keeps what it has."""
    line = ["-C", str(local.project.path), "watch", "--container", local.target, *local.options, *form]
    command = [sys.executable, "-m", "overlaysync", *line]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for _ in range(2):
            assert process.stdout.readline()
        process.stdout.close()
        local.edit_generation()
        assert (process.wait(timeout=30), process.stderr.read()) == (0, "")
    assert local.push()["outcome"] == "unchanged"
