"""``hook pre-push``: what is about to be pushed must be what ran."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, structs

from overlaysync.app.calling import find_root
from overlaysync.app.options import Options, Stage
from overlaysync.app.report import problems_of
from overlaysync.app.still_there import Answer, ask
from overlaysync.app.store import store, usual_place
from overlaysync.app.timing import Stages
from overlaysync.config.loading import load
from overlaysync.core import prepush
from overlaysync.core.addressing import Addressee
from overlaysync.core.prepush import PushedRef, Ran
from overlaysync.errors import AgentBugError, OverlaysyncError
from overlaysync.model.manifest import Manifest
from overlaysync.model.problem import Problem
from overlaysync.model.result import Result
from overlaysync.model.worktree import ObjectId, RepoPath, TreeEntry
from overlaysync.state.manifests import DamagedFile
from overlaysync.worktree.digests import blob_id
from overlaysync.worktree.git import Git
from overlaysync.worktree.linked import common_base, laid_onto
from overlaysync.worktree.repository import peel, worktrees
from overlaysync.worktree.worktree import Worktree, open_worktree

NAMED = 12


class Comparison(Struct, frozen=True):
    """What stands in the way, notes, and the distributions of which pushed commits were compared at all.

    ``uncompared``: pushed Python of which no record tells.
    """

    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    uncompared: tuple[RepoPath, ...] = ()

    def with_(self, other: Comparison) -> Comparison:
        return Comparison(
            (*self.problems, *other.problems),
            (*self.notes, *other.notes),
            (*self.compared, *other.compared),
            (*self.uncompared, *other.uncompared),
        )


def pre_push(options: Options, refs: Sequence[PushedRef], stage: Stage) -> Result:
    """Compares each pushed commit with every overlay that is recorded of this repository.

    The newest overlay of a distribution always counts; those of other targets do as long as they are there.
    What was taken away counts where nothing else is left.
    Raises UsageError, ConfigError, BaselineError; one that shall only warn tells what kept it from that.
    """
    stages = Stages(stage)
    mode = load(find_root(options.worktree), options.config).pre_push
    commits = [ref for ref in refs if ref.commit is not None]
    if mode == "off" or not commits:
        why = "switched off" if mode == "off" else "nothing but deletions" if refs else "nothing is pushed"
        return _result(Comparison(notes=(why,)), mode, stages)
    try:
        return _result(_compared(options, commits, stages), mode, stages)
    except OverlaysyncError as error:
        if mode != "warn" or isinstance(error, AgentBugError):
            raise
        message = f"what is pushed was not compared with what ran: {error.message}"
        problem = Problem(error.code, message, error.next_step or prepush.RUN_IT)
        return _result(Comparison((problem,)), mode, stages)


def _compared(options: Options, commits: Sequence[PushedRef], stages: Stages) -> Comparison:
    with open_worktree(options.worktree, options.cache_directory(), unfinished=True) as worktree:
        roots = worktrees(worktree.repository.root)
        # what ran from a ported worktree ran, also where that was removed since
        records = store(options).list({*roots, *(str(usual_place(root)) for root in roots)})
        ran = prepush.ran_last(records.manifests)
        if not ran and not records.damaged:
            return Comparison(notes=(prepush.none_there(records.manifests),))
        found = _judge(worktree, ran, prepush.held(records.manifests), commits, stages)
    return structs.replace(found, problems=(*map(_unread, records.damaged), *found.problems))


def _unread(record: DamagedFile) -> Problem:
    """It may be the newest one, so that what ran is not known."""
    message = f"the record {record.file} cannot be read ({record.reason}), so what ran is not known"
    return Problem("overlay-damaged", message, "move it away, then run this: overlaysync push --port")


def _judge(
    worktree: Worktree,
    ran_last: Sequence[Ran],
    held: prepush.Held,
    refs: Sequence[PushedRef],
    stage: Stage,
) -> Comparison:
    whole = Comparison()
    held_by_newest: dict[str, bool] = {}
    read_tree = functools.cache(worktree.tree)
    for ran in ran_last:
        manifest, told = ran.record, prepush.told_of(ran)
        if told is not None:
            answer = Answer(note=told, is_gone=True)
        else:
            stage(f"asking {manifest.target.name}")
            answer = ask(manifest)
        name = manifest.distribution.name
        newest = name not in held_by_newest
        if not newest and not answer.may_hold:
            continue
        notes = (answer.note,) if answer.note is not None else ()
        found = Comparison(_lost(manifest, answer), notes)
        stage("comparing commits")
        for ref in refs:
            found = found.with_(_compare(worktree, read_tree, ran, held, ref))
        if not newest and not answer.holds:
            found = _unsure(found)
        elif not newest and held_by_newest[name]:
            problems = tuple(prepush.or_take_it_away(problem, manifest) for problem in found.problems)
            found = structs.replace(found, problems=problems)
        held_by_newest.setdefault(name, answer.holds)
        whole = whole.with_(_addressed(found, manifest, answer, worktree.repository.root))
    return whole


def _lost(manifest: Manifest, answer: Answer) -> tuple[Problem, ...]:
    if answer.lost is None:
        return ()
    message = f"{answer.lost}; the overlay {manifest.id} was recorded"
    return (Problem("overlay-gone", message, prepush.RUN_IT_AGAIN),)


def _unsure(found: Comparison) -> Comparison:
    """Of an older overlay whose target does not answer: it may be gone, so that it stops nothing."""
    differing = tuple(RepoPath(problem.path or ".") for problem in found.problems)
    return Comparison(notes=found.notes, uncompared=(*found.uncompared, *differing))


def _addressed(found: Comparison, manifest: Manifest, answer: Answer, root: str) -> Comparison:
    """Next steps name the worktree, and a target that answers; git runs a hook where nobody types."""
    given = [item.commit for item in manifest.baseline.evidence if item.kind == "given"]
    addressee = Addressee(
        targets=(manifest.target.specification,) if answer.holds or answer.lost is not None else (),
        directory=root,
        options=tuple(("--image-commit", commit) for commit in given if commit is not None),
    )
    problems = tuple(
        structs.replace(problem, next_step=addressee.step(problem.next_step)) for problem in found.problems
    )
    return structs.replace(found, problems=problems)


def _compare(
    worktree: Worktree,
    read_tree: Callable[[ObjectId], prepush.Tree],
    ran: Ran,
    held: prepush.Held,
    ref: PushedRef,
) -> Comparison:
    """One pushed commit with one overlay. ``read_tree``: of a commit; it remembers."""
    manifest = ran.record
    image = manifest.baseline.image_commit
    git = Git(worktree.repository.root)
    commit = peel(git, ref.commit or "")
    if commit is None:
        return Comparison(notes=(f"{ref.local} names no commit, so nothing of it runs",))
    if image is None or not worktree.has_commit(image):
        message = f"the image commit {image} of the overlay {manifest.id} is not in this repository"
        return Comparison((Problem("unknown-commit", message, f"git fetch origin {image}"),))
    tree = laid_onto(git, ObjectId(image), commit)
    if tree is None:
        message = (
            f"{ref.local} does not go onto the image commit {image}, so it cannot have run there as it is"
        )
        return Comparison((Problem("port-conflict", message, prepush.RUN_IT),))
    before, pushed = read_tree(image), worktree.objects_below(tree)
    rebuilds = prepush.rebuilds(before, pushed)
    named = ", ".join([*rebuilds[:NAMED], *(["…"] if len(rebuilds) > NAMED else [])])
    notes = [f"needs an image rebuild: {named}"] if rebuilds else []
    new = prepush.uncompared(manifest, before, pushed)
    if new:
        notes.append(f"not compared: {', '.join(new[:NAMED])}, in a directory at the top that is new")
    if not prepush.holds_package(manifest, pushed) and common_base(git, ObjectId(image), commit) is None:
        return Comparison(
            notes=(f"{ref.local} holds nothing of {manifest.distribution.name}, and never did",)
        )
    entries = {**pushed, **_as_it_ran(worktree, manifest, pushed)}

    def ran_before(path: RepoPath) -> Manifest | None:
        return _ran_before(worktree, held.get(path, {}), pushed.get(path))

    problems = prepush.judge(ran, before, entries, ref.local, ran_before)
    return Comparison(tuple(problems), tuple(notes), (manifest.distribution.name,), tuple(new))


def _ran_before(
    worktree: Worktree, held: Mapping[ObjectId | None, Manifest], entry: TreeEntry | None
) -> Manifest | None:
    if entry is None or entry.oid in held or not held:
        return held.get(None if entry is None else entry.oid)
    return held.get(_with_crlf(worktree, entry)) if entry.is_file else None


def _as_it_ran(worktree: Worktree, manifest: Manifest, pushed: prepush.Tree) -> dict[RepoPath, TreeEntry]:
    """What ran with CRLF where git keeps LF, as by ``core.autocrlf`` of a new file: the entries that ran."""
    found = {}
    for item in manifest.overlay:
        entry = pushed.get(item.source)
        if entry is None or not entry.is_file or item.blob in (None, entry.oid):
            continue
        if _with_crlf(worktree, entry) == item.blob:
            found[item.source] = structs.replace(entry, oid=item.blob)
    return found


def _with_crlf(worktree: Worktree, entry: TreeEntry) -> ObjectId:
    """The id of a file's content with CRLF for LF; its own where it has CR already."""
    content = worktree.blob(entry.oid)
    if b"\r" in content:
        return entry.oid
    ran = content.replace(b"\n", b"\r\n")
    return blob_id([ran], len(ran), worktree.repository.object_format)


def _result(found: Comparison, mode: str, stages: Stages) -> Result:
    problems, notes = list(dict.fromkeys(found.problems)), list(dict.fromkeys(found.notes))
    names = sorted(set(found.compared))
    stops = bool(problems) and mode == "stop"
    if stops:
        sentence = "not pushed: this is not what ran"
    elif problems:
        sentence = "not shown to be what ran; pushed all the same, as configured"
    elif names:
        sentence = f"nothing stands in the way of the push; compared with what ran: {', '.join(names)}"
        if found.uncompared:
            sentence, names = f"{sentence}, but not all of it", []
    else:
        sentence, notes = f"not compared: {'; '.join(notes)}", []
    return Result(
        command="hook pre-push",
        outcome="refused" if stops else "unchanged",
        exit_code=1 if stops else 0,
        problems=problems_of(problems),
        timings_ms=stages.milliseconds(),
        details={"notes": notes, "sentence": sentence, "mode": mode, "compared": names},
    )
