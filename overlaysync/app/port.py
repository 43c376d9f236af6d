"""``port``: a development's state laid onto the image commit, in a linked worktree."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from overlaysync.app.calling import Call, find_root
from overlaysync.app.contact import LOCK_SECONDS, Contact, contact
from overlaysync.app.evidence import gather
from overlaysync.app.looking import Looking
from overlaysync.app.next_steps import addressee
from overlaysync.app.options import Options, Stage
from overlaysync.app.report import problems_of, target_of
from overlaysync.app.several import Run
from overlaysync.app.store import usual_place
from overlaysync.app.timing import Stages
from overlaysync.core.evidence import image_commit, judge, weigh
from overlaysync.errors import BaselineError, LockedError, UsageError
from overlaysync.model.evidence import Baseline, Evidence
from overlaysync.model.problem import Problem, exit_code
from overlaysync.model.result import Result
from overlaysync.model.worktree import ObjectId, Ported, RepoPath
from overlaysync.state.directories import state_directory
from overlaysync.state.manifests import repository_key
from overlaysync.worktree.git import Git
from overlaysync.worktree.linked import LinkedWorktree, apart, common_base, merge
from overlaysync.worktree.repository import branch_commit
from overlaysync.worktree.state import commit_state
from overlaysync.worktree.worktree import Worktree, open_worktree

WORKTREE, OBJECTS = "worktree", "objects"
"""In the directory of a dry run."""


class Source(Struct, frozen=True):
    """What is carried, and where to.

    ``branch``: carried in place of the worktree's state. ``place``: the linked worktree; None: the usual one.
    """

    branch: str | None = None
    place: Path | None = None


class Carried(Struct, frozen=True):
    """The linked worktree, and what it carries; or what stands in the way."""

    place: Path
    ported: Ported | None = None
    changed: tuple[RepoPath, ...] = ()
    problems: tuple[Problem, ...] = ()


def port(options: Options, source: Source, stage: Stage) -> Result:
    """Makes or refreshes the linked worktree. The development worktree is never touched.

    Raises UsageError, BaselineError, TargetError, WorktreeChangedError, LockedError.
    """
    stages = Stages(stage)
    if options.image_commit is not None and options.container is None:
        evidence: tuple[Evidence, ...] = (weigh("given", "--image-commit", options.image_commit),)
        with alone(options):
            return result_of_port("port", carry(evidence, options, source, stages), None, options, stages)
    with Call(options) as call:
        target = contact(call, stages, ahead=False)
        with alone(options):
            evidence = gather(target, options.image_commit)
            return result_of_port("port", carry(evidence, options, source, stages), target, options, stages)


@contextmanager
def alone(options: Options) -> Iterator[None]:
    """No other run carries this worktree meanwhile: what is pushed then is all of one state.

    Raises LockedError, after waiting as long as a short run takes.
    """
    from filelock import FileLock, Timeout  # a push that carries nothing does not wait for its import

    locks = state_directory() / "ports"
    locks.mkdir(mode=0o700, exist_ok=True)
    root = str(find_root(options.worktree).resolve())
    try:
        lock = FileLock(locks / f"{repository_key(root)}.lock").acquire(timeout=LOCK_SECONDS)
    except Timeout as error:
        raise LockedError(f"another run carries the state of {root!r}", "run the command again") from error
    with lock:
        yield


def over_carried(
    command: str, run: Run, source: Source, use: Callable[[Run], Result], *, dry_run: bool = False
) -> Result:
    """Carries, and has ``use`` go on from there; no other run carries this worktree meanwhile.

    ``dry_run``: what is carried lies apart, and is taken away again.
    """
    target, options, stages = run.target, run.options, run.stages
    with alone(options), _scratch(options) if dry_run else nullcontext() as scratch:
        carried = carry(gather(target, options.image_commit), options, source, stages, scratch)
        if carried.ported is None:
            return result_of_port(command, carried, target, options, stages)
        name, there = _name(carried.ported), structs.replace(options, worktree=carried.place)
        if scratch is None:
            result = use(structs.replace(run, options=there))
            return _with_note(result, f"pushed from {carried.place}, which carries {name}")
        result = use(structs.replace(run, options=structs.replace(there, cache=scratch / "cache")))
        return _with_note(result, f"{name} was carried for this look alone; nothing of that stays")


def use_carried(
    command: str,
    call: Call,
    stage: Stage,
    use: Callable[[Run, Worktree], Result],
    *,
    dry_run: bool = False,
) -> Result:
    """``over_carried`` of a use case that looks at the worktree, from the first contact on."""
    stages = Stages(stage)

    def use_there(run: Run) -> Result:
        with Looking(run.options) as worktree:
            return use(run, worktree)

    run = Run(contact(call, stages, ahead=False), call.options, stages)
    return over_carried(command, run, Source(), use_there, dry_run=dry_run)


@contextmanager
def _scratch(options: Options) -> Iterator[Path]:
    """A directory for all that is needed to look at what would be carried; nothing of it stays.

    One run at a time has it, and clears away what one that was killed left there.
    """
    root = str(find_root(options.worktree).resolve())
    place = usual_place(root)
    scratch = place.with_name(f"{place.name}.dry-run")
    linked = LinkedWorktree(Git(root), scratch / WORKTREE)

    def clear() -> None:
        if scratch.exists():
            linked.remove()
            shutil.rmtree(scratch, ignore_errors=True)

    clear()
    try:
        (scratch / OBJECTS).mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise UsageError(
            f"{str(scratch)!r} cannot be made: {error.strerror}",
            f"remove it: rm -rf {shlex.quote(str(scratch))}",
        ) from error
    try:
        yield scratch
    finally:
        clear()


def carry(
    evidence: tuple[Evidence, ...],
    options: Options,
    source: Source,
    stage: Stage,
    scratch: Path | None = None,
) -> Carried:
    """The same where the evidence is known. Raises as ``port`` does, but not TargetError.

    ``scratch``: where it is carried to, and git's objects are written, in place of the repository's own.
    """
    stage("reading the worktree")
    with open_worktree(options.worktree, options.cache_directory(), capture=True) as worktree:
        root = worktree.repository.root
        place = source.place or usual_place(root)
        image = image_commit(evidence)
        problems = _judge(worktree, evidence, image)
        if image is None or problems:
            return Carried(place, problems=problems)
        git = Git(root) if scratch is None else apart(Git(root), scratch / OBJECTS)
        branch, head, state, changed, problems = _state(git, worktree, source.branch)
        if problems:
            return Carried(place, problems=problems)
        stage("merging")
        base = common_base(git, image, head)
        if base is None:
            raise BaselineError(
                f"the image commit {image} and {head} have no history in common here",
                "in a shallow clone: git fetch --unshallow; of a branch that was begun without history: "
                "rebase it onto the image commit",
            )
        tree, conflicts = merge(git, image, state)
        if tree is None:
            return Carried(
                place, problems=tuple(_conflict(path, image, branch or head) for path in conflicts)
            )
        stage("writing the linked worktree")
        ported = Ported(root, branch, head, state, base, image)
        linked = LinkedWorktree(git, place)
        if scratch is not None:
            linked.check(ported, scratch)
            linked = LinkedWorktree(git, place := scratch / WORKTREE)
        linked.carry(tree, ported)
        return Carried(place, ported, changed)


State = tuple[str | None, ObjectId, ObjectId, tuple[RepoPath, ...], tuple[Problem, ...]]


def _state(git: Git, worktree: Worktree, branch: str | None) -> State:
    """Branch, its commit, that with what is not committed, the paths of this, and what cannot be carried."""
    if branch is not None:
        commit = branch_commit(worktree.repository.root, branch)
        return branch, commit, commit, (), ()
    snapshot = worktree.snapshot()
    changed = tuple(change.path for change in snapshot.changes)
    repository = snapshot.repository
    if snapshot.problems:
        return repository.branch, repository.head, repository.head, changed, snapshot.problems
    return repository.branch, repository.head, commit_state(git, worktree, snapshot), changed, ()


def _judge(worktree: Worktree, evidence: tuple[Evidence, ...], image: ObjectId | None) -> tuple[Problem, ...]:
    """Whether one commit is named, and known here. That HEAD is another is what this is for."""
    known = {item.commit for item in evidence if item.commit and worktree.has_commit(item.commit)}
    at_image = image if image is not None else worktree.repository.head
    baseline = Baseline(head=at_image, image_commit=image, evidence=evidence)
    return tuple(judge(baseline, known, repository=worktree.repository, content="nothing was carried"))


def _conflict(path: RepoPath, image: ObjectId, development: str) -> Problem:
    return Problem(
        "port-conflict",
        f"{path} was changed by {development} and in the history of the image commit, in different ways",
        f"bring the branch onto the image commit yourself: git rebase --autostash --onto {image} "
        f"$(git merge-base {image} {shlex.quote(development)}), then port again",
        path,
    )


def _name(ported: Ported) -> str:
    return ported.branch or ported.head[:12]


def _with_note(result: Result, note: str) -> Result:
    """A push's result, with where the state is that it came from."""
    notes = [*result.details.get("notes", ()), note]
    return structs.replace(result, details={**result.details, "notes": notes})


def result_of_port(
    command: str, carried: Carried, target: Contact | None, options: Options, stages: Stages
) -> Result:
    """What came of carrying, told by ``port`` or by a command that does it on its way."""
    problems, ported = carried.problems, carried.ported
    there = structs.replace(addressee([options]), directory=str(carried.place))
    details: dict[str, Any] = {"worktree": str(carried.place), "carried": list(carried.changed)}
    if ported is not None:
        details |= {
            "sentence": f"{_name(ported)} is carried onto {ported.image_commit[:12]} in {carried.place}",
            "ported": structs.asdict(ported),
            "next_step": there.step("overlaysync push"),
        }
    return Result(
        command=command,
        outcome="refused" if problems else "applied",
        exit_code=exit_code(problems),
        target=None if target is None else target_of(target),
        problems=problems_of(problems),
        timings_ms=stages.milliseconds(),
        details=details,
    )
