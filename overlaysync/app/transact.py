"""Carries out one plan: stage, apply, read back, record; or everything back as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from overlaysync.app.contact import Contact
from overlaysync.app.options import Stage
from overlaysync.app.read_back import ReadBack, read_back
from overlaysync.app.reading import find_workload, refuse_workload
from overlaysync.app.records import Task, make_manifest, new_manifest_id, overlay_of
from overlaysync.app.timing import Stages
from overlaysync.app.together import A_WHILE, Agree, unasked
from overlaysync.core.finding import listed
from overlaysync.errors import AgentLostError, ApplyError, OverlaysyncError, UnfinishedError
from overlaysync.model.manifest import Manifest
from overlaysync.model.plan import Operation, Placement, Plan
from overlaysync.model.target import Applied, InstalledPath
from overlaysync.model.worktree import Sha256
from overlaysync.state.manifest_text import encode

Content = Callable[[Operation], Iterable[bytes]]
"""The new content of an operation, in pieces."""


def carry_out(
    task: Task,
    content: Content,
    executable: Iterable[InstalledPath],
    last_look: Callable[[], None],
    stages: Stages,
    agree: Agree = unasked,
) -> Manifest:
    """All of the plan, proven, or none of it.

    ``executable``: new files that shall have mode 0755. ``last_look`` is called when everything is staged and
    nothing is applied; it raises to give up. ``agree``: before that, when all is proven, before the record.

    Raises ApplyError when it failed and was rolled back (its message says so, or what was not), and whatever
    ``content``, ``last_look`` and ``agree`` raise, after rolling back.
    """
    identity = new_manifest_id()
    session = task.contact.session
    in_place = False
    try:
        stages("copying")
        _stage(task, identity, content, executable)
        agree()
        last_look()
        refuse_workload(task.contact, task.inventory)
        stages("applying")
        in_place = True
        done = _apply(task)
        proof = _prove(task, stages)
        manifest = make_manifest(identity, task, proof, done, stages.milliseconds())
        # without an overlay nothing of ours stays
        session.write_record(encode(manifest) if task.plan.overlay else None)
        waited = agree()
        if waited > A_WHILE:
            _prove(task, stages)
        waited += agree()
    except AgentLostError:
        raise
    except KeyboardInterrupt:
        stages("rolling back")
        session.close()  # a goodbye is heard even where an answer is still outstanding
        raise
    except BaseException as error:
        _roll_back(task.contact, error, stages)
        if type(error) is ApplyError:
            error = _undone(error)
        if in_place and isinstance(error, OverlaysyncError):
            error.also(_left_with_it(task))
        raise error
    stages("recording")
    session.record(_expected(task) if waited else None)
    return manifest


def _stage(task: Task, identity: str, content: Content, executable: Iterable[InstalledPath]) -> None:
    session, operations = task.contact.session, task.plan.operations
    removable = task.previous.directories if task.previous is not None else ()
    session.begin(identity, operations, executable, removable)
    for number, operation in enumerate(operations):
        if operation.after is not None and not operation.restores:
            session.stage(number, content(operation))


def _apply(task: Task) -> Applied:
    python = task.contact.interpreter
    prefixes = [python.pycache_prefix] if python.pycache_prefix is not None else []
    return task.contact.session.apply(prefixes, python.search_path)


def _prove(task: Task, stages: Stages) -> ReadBack:
    """Raises ApplyError where what was pushed is not what is imported, WorkloadError for who imported it."""
    stages("reading back")
    restored = {item.destination for item in task.plan.operations if item.restores}
    proof = read_back(task.contact, task.inventory, _expected(task), restored)
    _refuse(proof)
    refuse_workload(task.contact, task.inventory)
    return proof


def _expected(task: Task) -> dict[InstalledPath, Sha256 | None]:
    return expected_after(task.plan, overlay_of(task.previous))


def expected_after(
    plan: Plan, overlay: Mapping[InstalledPath, Placement]
) -> dict[InstalledPath, Sha256 | None]:
    """What the target must hold after a plan: its overlay, and originals where ``overlay`` was before."""
    expected = {path: item.original_sha256 for path, item in overlay.items()}
    expected.update({operation.destination: operation.after for operation in plan.operations})
    expected.update({item.destination: item.installed_sha256 for item in plan.overlay})
    return expected


def _refuse(proof: ReadBack) -> None:
    if proof.problems:
        first = proof.problems[0]
        more = f" (and {len(proof.problems) - 1} more)" if len(proof.problems) > 1 else ""
        raise ApplyError(f"read-back failed: {first.message}{more}", first.next_step, code="read-back")


def _left_with_it(task: Task) -> str:
    """Processes that started while the files were in place, and that nobody will ask about again."""
    try:
        running = find_workload(task.contact, task.inventory.root).processes
    except OverlaysyncError:
        return ""
    names = [f"process {process.pid} {process.name}" for process in running]
    return f"; {listed(names)} may have loaded what was taken back: restart what is to run" if names else ""


def _undone(error: ApplyError) -> ApplyError:
    message = f"{error.message}; everything was rolled back, the target is as it was"
    return ApplyError(message, error.next_step, code=error.code)


def _roll_back(contact: Contact, error: BaseException, stage: Stage) -> None:
    """The agent puts the old tree back; what it cannot put back is told in place of the first trouble."""
    stage("rolling back")
    try:
        contact.session.roll_back()
    except ApplyError as unfinished:
        raise UnfinishedError(f"{error}; and then: {unfinished.message}", unfinished.next_step) from error
