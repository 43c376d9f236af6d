"""Every exit code of the table, through the real command line; what is not here has a file of its own.

1, 4, 5 and 6 are shown with their reasons in ``test_baseline``, ``test_sequence`` and ``test_workload``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import relay
from tests.e2e.scenario import (
    LocalScenario,
    Scenario,
    Stage,
    Work,
    changed,
    check_answer,
    check_manners,
    codes,
)
from tests.parts.command_line import Result
from tests.parts.containers import Container
from tests.parts.hooks import hook_files, install_hook

HOOK = """
import os, sys
if os.path.exists({armed!r}):
    {action}
"""
"""A start-up hook, as coverage tools and debuggers install them; it works only while ``armed`` is there."""


def test_0_applied_and_unchanged(local: LocalScenario) -> None:
    assert local("push").exit_code == 0
    local.edit_generation()
    result = local("push")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "✓ applied: 1 file, read back" in result.stdout
    assert local("push").exit_code == 0


def test_1_findings(local: LocalScenario) -> None:
    assert local.ask("status", "--check")["exit_code"] == 0
    local.edit_generation()
    assert local.ask("status")["exit_code"] == 0
    assert local.ask("status", "--check")["exit_code"] == 1
    local.applied()
    assert local.ask("verify")["exit_code"] == 0
    (local.environment.site_packages / "sample_pkg" / "engine.py").unlink()
    result = local("verify")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1].startswith("✗")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("pusch",), "pusch"),
        (("push", "--no-such-option"), "--no-such-option"),
        (("push", "--acknowledge", "everything"), "everything"),
        (("push",), "no target is named"),
        (("push", "--container", "podman:x"), "podman"),
        (("push", "--container", "docker:"), "names no target"),
        (("push", "--container", "x", "--config", "missing.toml"), "missing.toml"),
        (("manifest", "show", "latest"), "manifest"),
        (("manifest", "diff", "nothing"), "nothing"),
    ],
)
def test_2_usage(local: LocalScenario, arguments: tuple[str, ...], says: str) -> None:
    line = ("-C", str(local.project.path), *arguments)
    result = check_manners(local.cli(*line))
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr
    assert "  → " in result.stderr
    answer = check_answer(local.cli(*line, "--json"))
    assert (answer["outcome"], answer["exit_code"]) == ("failed", 2)
    assert answer["command"] == " ".join(arguments[: 2 if arguments[0] == "manifest" else 1])


def test_3_a_native_source(local: LocalScenario) -> None:
    local.edit_generation()
    kernel = local.project.path / "csrc" / "kernel.c"
    original = kernel.read_text()
    kernel.write_text(original.replace("* 2", "* 3"))
    answer = local.refused()
    assert (answer["exit_code"], codes(answer)) == (3, ["native-change"])
    assert answer["problems"][0]["path"] == "csrc/kernel.c"
    kernel.write_text(original)
    local.applied()


def test_7_no_environment_there(local: LocalScenario, tmp_path: Path) -> None:
    line = ("-C", local.project.path, "push", "--json", "--container", f"local:{tmp_path / 'nowhere'}")
    answer = check_answer(local.cli(*line))
    assert (answer["exit_code"], answer["outcome"]) == (7, "failed")
    assert "nowhere" in answer["problems"][0]["message"]


def full(scenario: Scenario, room: int) -> None:
    """Leaves so many bytes on the file system of the install root."""
    code = (
        f"import os, sys\nstatus = os.statvfs('/opt')\nleft = status.f_bavail * status.f_frsize - {room}\n"
        "open('/opt/filler', 'wb').write(bytes(left))"
    )
    scenario.container.python(code)


@pytest.mark.container
def test_8_the_disk_is_full(stage: Stage) -> None:
    scenario = stage.set(
        prepare=lambda container: container.exec("mv", "/opt/venv", "/kept", check=True),
        arguments=["--tmpfs=/opt:exec,size=4m"],
        environment={"PATH": "/kept/bin:/opt/venv/bin:/usr/local/bin:/usr/bin:/bin"},
    )
    scenario.container.exec("cp", "-a", "/kept", "/opt/venv", check=True)
    scenario.container.exec("rm", "-rf", "/kept", check=True)
    scenario.site = scenario.site.replace("/kept/", "/opt/venv/")
    scenario.options = ["--image-commit", scenario.project.head]  # of a mount the image's label says nothing
    scenario.edit_generation()
    engine = scenario.project.path / "sample_pkg" / "engine.py"
    engine.write_text(engine.read_text() + "#" * 300_000 + "\n")
    full(scenario, 100_000)
    before = scenario.files()
    result = scenario("push")
    assert (result.exit_code, result.stdout) == (8, "")
    assert "No space left on device" in result.stderr
    assert "sample_pkg/engine.py" in result.stderr
    assert scenario.files() == before
    answer = scenario.push()
    assert (answer["outcome"], answer["exit_code"]) == ("failed", 8)
    assert scenario.files() == before
    scenario.container.exec("rm", "/opt/filler", check=True)
    scenario.applied()
    assert scenario.answer() == "generation 2: 1.0"


def hook(local: LocalScenario, tmp_path: Path, action: str) -> Path:
    """A start-up hook for the environment; the path that arms it."""
    armed = tmp_path / "armed"
    text = HOOK.format(armed=str(armed), action=action)
    install_hook(local.environment.site_packages, text)
    return armed


def test_8_the_worktree_file_changes_after_it_was_looked_at(local: LocalScenario) -> None:
    """When everything is decided."""
    local.edit_generation()
    engine = local.project.path / "sample_pkg" / "engine.py"
    append = f"open({str(engine)!r}, 'a').write('# meanwhile' + chr(10))"
    relay.install(local.environment.prefix, "begin", f"({append}, frame(reply))[1]")
    before = local.files()
    answer = local.push()
    assert (answer["outcome"], answer["exit_code"], codes(answer)) == ("failed", 8, ["unstable-file"])
    assert "sample_pkg/engine.py" in answer["problems"][0]["message"]
    assert local.files() == before
    assert not (local.environment.site_packages / ".overlaysync").exists()
    relay.install(local.environment.prefix, "", "")
    local.applied()


def test_8_the_target_file_changes_after_it_was_looked_at(local: LocalScenario, tmp_path: Path) -> None:
    local.edit_generation()
    place = local.environment.site_packages / "sample_pkg" / "engine.py"
    original = place.read_bytes()
    seen = tmp_path / "seen"
    action = (
        f"open({str(seen)!r}, 'a').write('x')\n"
        f"    if os.path.getsize({str(seen)!r}) == 2: open({str(place)!r}, 'a').write('# meanwhile')"
    )
    armed = hook(local, tmp_path, action)
    armed.touch()
    answer = local.push()
    assert (answer["outcome"], answer["exit_code"]) == ("failed", 8)
    assert "changed in the target since the plan was made" in answer["problems"][0]["message"]
    assert place.read_bytes() == original + b"# meanwhile"  # not ours, so not touched
    place.write_bytes(original)
    armed.unlink()
    local.applied()


@pytest.mark.container
def test_9_two_at_once(scenario: Scenario) -> None:
    hold = (
        "import fcntl, os, sys, time; handle = os.open(sys.argv[1], os.O_RDONLY);"
        "fcntl.flock(handle, fcntl.LOCK_EX); open('/tmp/held', 'w'); time.sleep(600)"
    )
    engine, name = scenario.container.engine, scenario.container.name
    engine.run("exec", "--detach", name, "/usr/local/bin/python3", "-c", hold, scenario.site)
    deadline = time.monotonic() + 30
    while scenario.container.exec("stat", "/tmp/held").returncode:
        assert time.monotonic() < deadline
    scenario.edit_generation()
    for command in ("push", "status", "revert", "verify"):
        answer = scenario.refused(command=command)
        assert (answer["exit_code"], codes(answer)) == (9, ["locked"])
    assert scenario.site in answer["problems"][0]["message"]
    engine.run("restart", "--time", "1", name)
    scenario.applied()


def test_70_a_bug(tmp_path: Path) -> None:
    code = (
        "import click, sys; from overlaysync.cli.failure import run\n"
        "@click.command()\n@click.option('--json', is_flag=True)\n"
        "def broken(json): raise RuntimeError('secret \\x1b[31m reason')\n"
        "sys.exit(run(broken, sys.argv[1:]))"
    )

    def start(*arguments: str) -> Result:
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env={**os.environ, "TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    result = check_manners(start())
    assert (result.exit_code, result.stdout) == (70, "")
    [report] = tmp_path.glob("overlaysync-report-*.txt")
    assert str(report) in result.stderr
    assert "Traceback" in report.read_text()
    assert report.stat().st_mode & 0o077 == 0
    assert check_answer(start("--json"))["exit_code"] == 70


def interrupt(process: subprocess.Popen[str], number: int, reached: Callable[[], bool]) -> Result:
    """Sends a signal once ``reached`` is true; how the process ended, soon after."""
    deadline = time.monotonic() + 60
    while not reached():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    sent = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - sent < 12, "it must not wait for what hangs in the target"
    return Result(process.returncode, out, err)


def start_push(work: Work, *options: str) -> subprocess.Popen[str]:
    line = ["-C", str(work.project.path), "push", "--container", work.target, *work.options, *options]
    return subprocess.Popen(
        [sys.executable, "-m", "overlaysync", *line],
        cwd=work.project.path.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize(
    ("moment", "number"), [("before", signal.SIGINT), ("after", signal.SIGINT), ("after", signal.SIGTERM)]
)
def test_130_ctrl_c_before_and_after_the_files_are_in_place(
    local: LocalScenario, tmp_path: Path, moment: str, number: int
) -> None:
    """The target's Python hangs while it is asked: before the copy, or when it is to prove the new file.

    A host that is killed has nothing more to say; its agent rolls back all the same.
    """
    local.edit_generation()
    local.project.write("sample_pkg/models/new.py", "NEW = True\n")
    place = local.environment.site_packages / "sample_pkg" / "engine.py"
    reached = tmp_path / "reached"
    now = "True" if moment == "before" else f"'GENERATION = 2' in open({str(place)!r}).read()"
    armed = hook(local, tmp_path, f"import time; {now} and (open({str(reached)!r}, 'w'), time.sleep(20))")
    before = local.traces() if moment == "before" else local.files()
    armed.touch()
    result = check_manners(interrupt(start_push(local), number, reached.exists))
    if number == signal.SIGINT:
        assert (result.exit_code, result.stdout) == (130, "")
        assert "interrupted" in result.stderr
    armed.unlink()
    deadline = time.monotonic() + 30
    while (after := local.files() if moment == "after" else local.traces()) != before:
        assert time.monotonic() < deadline, changed(before, after)
        time.sleep(0.1)
    local.applied()


@pytest.mark.container
def test_130_ctrl_c_while_a_container_is_asked(stage: Stage) -> None:
    def hang(container: Container) -> None:
        site = container.python("import sysconfig; print(sysconfig.get_path('purelib'))")
        code = (
            "import os, time\n"
            f"place = {site!r} + '/sample_pkg/engine.py'\n"
            "if os.path.exists(place) and 'GENERATION = 2' in open(place).read():\n"
            "    open('/tmp/reached', 'w'); time.sleep(20)\n"
        )
        for name, text in hook_files(code).items():
            container.write(f"{site}/{name}", text)

    scenario = stage.set(prepare=hang)
    scenario.edit_generation()
    before = scenario.files()
    process = start_push(scenario, "--json")
    result = interrupt(
        process, signal.SIGINT, lambda: scenario.container.exec("stat", "/tmp/reached").returncode == 0
    )
    assert result.stderr.strip() == ""
    answer = check_answer(result)
    assert (answer["exit_code"], codes(answer)) == (130, ["interrupted"])
    deadline = time.monotonic() + 30
    while scenario.files().get("sample_pkg/engine.py") != before["sample_pkg/engine.py"]:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert scenario.files() == before
