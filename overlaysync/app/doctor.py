"""``doctor``: what is missing on this machine and in a target, each with its remedy."""

from __future__ import annotations

import shutil
import subprocess
import sys

from msgspec import Struct, structs

from overlaysync.app import evidence
from overlaysync.app.calling import Call, find_root
from overlaysync.app.contact import contact
from overlaysync.app.next_steps import addressee
from overlaysync.app.options import Options, Stage
from overlaysync.app.reading import find_workload
from overlaysync.app.records import overlay_of, read_manifest
from overlaysync.app.report import target_of
from overlaysync.app.timing import Stages
from overlaysync.config.loading import load
from overlaysync.core import modules, workload
from overlaysync.core.evidence import image_commit
from overlaysync.errors import AgentBugError, OverlaysyncError
from overlaysync.model.result import Result, ResultProblem, ResultTarget
from overlaysync.state.directories import state_directory

ANSWER_SECONDS = 10.0


class Check(Struct, frozen=True):
    """One thing looked at. ``remedy``: None when it is well; not ``needed``: only some targets need it."""

    name: str
    found: str
    remedy: str | None = None
    needed: bool = True


def doctor(options: Options, stage: Stage) -> Result:
    """Checks this machine, and the target where one is named. Exit code 1 when something is missing."""
    stages = Stages(stage)
    stages("looking at this machine")
    checks = [_python(), _git(), _docker(), _state()]
    target: ResultTarget | None = None
    configured = options.container
    if configured is None:
        checks_of_configuration, configured = _configuration(options)
        checks.append(checks_of_configuration)
    if configured is not None:
        target, found = _target(options, stages)
        checks.extend(found)
    typed = addressee([options]).step
    checks = [
        structs.replace(item, remedy=typed(item.remedy)) if item.remedy is not None else item
        for item in checks
    ]
    missing = [check for check in checks if check.remedy is not None and check.needed]
    return Result(
        command="doctor",
        outcome="unchanged",
        exit_code=1 if missing else 0,
        target=target,
        problems=tuple(
            ResultProblem("missing", None, f"{item.name}: {item.found}", item.remedy) for item in missing
        ),
        timings_ms=stages.milliseconds(),
        details={
            "checks": [
                {"name": item.name, "well": item.remedy is None, "found": item.found, "remedy": item.remedy}
                for item in checks
            ],
            "sentence": _sentence(len(missing)),
        },
    )


def _sentence(missing: int) -> str:
    if not missing:
        return "nothing is missing"
    return f"{missing} thing{' is' if missing == 1 else 's are'} missing or in the way"


def _python() -> Check:
    return Check("Python", ".".join(map(str, sys.version_info[:3])))


def _git() -> Check:
    words = _answer(["git", "--version"])
    return Check("git", words) if words else Check("git", "not found", "install git")


def _docker() -> Check:
    if shutil.which("docker") is None:
        return Check("docker", "not found", "install a docker client, or use local:PREFIX", needed=False)
    version = _answer(["docker", "version", "--format", "{{.Server.Version}}"])
    if version:
        return Check("docker engine", version)
    return Check("docker engine", "does not answer", "start it, or look at: docker version", needed=False)


def _state() -> Check:
    try:
        return Check("records", str(state_directory()))
    except OverlaysyncError as error:
        return Check("records", error.message, error.next_step or "set XDG_STATE_HOME")


def _configuration(options: Options) -> tuple[Check, str | None]:
    try:
        configuration = load(find_root(options.worktree), options.config)
    except OverlaysyncError as error:
        return Check("configuration", error.message, error.next_step or "correct it"), None
    return Check("configuration", configuration.file or "none, which is fine"), configuration.target


def _answer(argv: list[str]) -> str | None:
    """The last line of what a program says; None when it fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip().splitlines()[-1] if done.returncode == 0 and done.stdout.strip() else None


def _target(options: Options, stages: Stages) -> tuple[ResultTarget | None, list[Check]]:
    try:
        with Call(options) as call:
            target = contact(call, stages)
            inventory = target.open("sha1")
            checks = [
                Check("target", target.identity.name),
                Check("agent's Python", f"{target.session.hello.executable} {target.session.hello.python}"),
                Check("interpreter", f"{target.interpreter.path} {target.interpreter.version}"),
                Check("distribution", f"{target.name} {target.distribution.version} in {inventory.root}"),
            ]
            commit = image_commit(evidence.gather(target, options.image_commit))
            checks.append(
                Check("image commit", commit)
                if commit is not None
                else Check("image commit", "no full commit id is known", "name it: --image-commit FULL")
            )
            running = workload.judge(find_workload(target, inventory.root))
            checks.extend(Check("workload", item.message, item.next_step) for item in running)
            overlay = overlay_of(read_manifest(target, inventory))
            problems = modules.judge_installation(
                target.interpreter, target.distribution, target.name, overlay
            )
            checks.extend(Check(item.code, item.message, item.next_step) for item in problems)
            places = sorted({file.path for file in inventory.files if file.path.endswith("/__init__.py")})[:1]
            looked = target.session.look(places, object_format="sha1", writable=True)
            checks.extend(_writable(reason) for file in looked.values() if (reason := file.unwritable))
            return target_of(target), checks
    except AgentBugError:
        raise
    except OverlaysyncError as error:
        return None, [Check("target", error.message, error.next_step or "see the message")]


def _writable(reason: str) -> Check:
    return Check("writing", reason, "write as another user: --user root; or start it with a writable root")
