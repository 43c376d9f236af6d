"""``hook pre-push``: what is about to be pushed must be what ran."""

from __future__ import annotations

import functools
import queue
import threading
from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from overlaysync.app.calling import find_root
from overlaysync.app.options import Options, Stage
from overlaysync.app.report import problems_of
from overlaysync.app.store import store, usual_place
from overlaysync.app.timing import Stages
from overlaysync.config.loading import load
from overlaysync.core import prepush
from overlaysync.core.prepush import PushedRef
from overlaysync.errors import AgentBugError, OverlaysyncError
from overlaysync.model.manifest import Manifest
from overlaysync.model.problem import Problem
from overlaysync.model.result import Result
from overlaysync.model.target import UNKNOWN, FileKind
from overlaysync.model.worktree import ObjectId, RepoPath, TreeEntry
from overlaysync.remote.connecting import connect
from overlaysync.state.manifests import DamagedFile
from overlaysync.targets.specification import open_target
from overlaysync.worktree.digests import blob_id
from overlaysync.worktree.git import Git
from overlaysync.worktree.linked import common_base, laid_onto
from overlaysync.worktree.repository import peel, worktrees
from overlaysync.worktree.worktree import Worktree, open_worktree

ANSWER_SECONDS = 3.0
"""A target that answers later is not waited for."""
NAMED = 12


class Answer(Struct, frozen=True):
    """What a target says of an overlay: ``problems``: it holds it no more; ``note``: why it says nothing."""

    problems: tuple[Problem, ...] = ()
    note: str | None = None

    @property
    def holds(self) -> bool:
        return not self.problems and self.note is None


def pre_push(options: Options, refs: Sequence[PushedRef], stage: Stage) -> Result:
    """Compares each pushed commit with every overlay that is recorded of this repository.

    The newest overlay of a distribution always counts; those of other targets do as long as they are there.
    Raises UsageError, ConfigError, BaselineError; one that shall only warn tells what kept it from that.
    """
    stages = Stages(stage)
    mode = load(find_root(options.worktree), options.config).pre_push
    commits = [ref for ref in refs if ref.commit is not None]
    if mode == "off" or not commits:
        why = "switched off" if mode == "off" else "nothing but deletions" if refs else "nothing is pushed"
        return _result((), [why], mode, stages)
    try:
        problems, notes = _compared(options, commits, stages)
    except OverlaysyncError as error:
        if mode != "warn" or isinstance(error, AgentBugError):
            raise
        message = f"what is pushed was not compared with what ran: {error.message}"
        problems, notes = [Problem(error.code, message, error.next_step or prepush.RUN_IT)], []
    return _result(problems, notes, mode, stages)


def _compared(
    options: Options, commits: Sequence[PushedRef], stages: Stages
) -> tuple[list[Problem], list[str]]:
    """What stands in the way, and notes."""
    with open_worktree(options.worktree, options.cache_directory(), unfinished=True) as worktree:
        roots = worktrees(worktree.repository.root)
        # what ran from a ported worktree ran, also where that was removed since
        records = store(options).list({*roots, *(str(usual_place(root)) for root in roots)})
        manifests = prepush.newest(records.manifests)
        if not manifests and not records.damaged:
            return [], [prepush.none_there(records.manifests)]
        problems, notes = _judge(worktree, manifests, commits, stages)
    return [*map(_unread, records.damaged), *problems], notes


def _unread(record: DamagedFile) -> Problem:
    """It may be the newest one, so that what ran is not known."""
    message = f"the record {record.file} cannot be read ({record.reason}), so what ran is not known"
    return Problem("overlay-damaged", message, "move it away, then run this: overlaysync push --port")


def _judge(
    worktree: Worktree, manifests: Sequence[Manifest], refs: Sequence[PushedRef], stage: Stage
) -> tuple[list[Problem], list[str]]:
    problems: list[Problem] = []
    notes: list[str] = []
    seen: set[str] = set()
    read_tree = functools.cache(worktree.tree)
    for manifest in manifests:
        stage(f"asking {manifest.target.name}")
        answer = ask(manifest)
        newest = manifest.distribution.name not in seen
        seen.add(manifest.distribution.name)
        if not newest and not answer.holds:
            continue
        problems += answer.problems
        notes += [answer.note] if answer.note is not None else []
        stage("comparing commits")
        for ref in refs:
            found, told = _compare(worktree, read_tree, manifest, ref)
            problems += found
            notes += told
    return list(dict.fromkeys(problems)), list(dict.fromkeys(notes))


def _compare(
    worktree: Worktree, read_tree: Callable[[ObjectId], prepush.Tree], manifest: Manifest, ref: PushedRef
) -> tuple[list[Problem], list[str]]:
    """``read_tree``: of a commit; it remembers."""
    image = manifest.baseline.image_commit
    git = Git(worktree.repository.root)
    commit = peel(git, ref.commit or "")
    if commit is None:
        return [], [f"{ref.local} names no commit, so nothing of it runs"]
    if image is None or not worktree.has_commit(image):
        message = f"the image commit {image} of the overlay {manifest.id} is not in this repository"
        return [Problem("unknown-commit", message, f"git fetch origin {image}")], []
    tree = laid_onto(git, ObjectId(image), commit)
    if tree is None:
        message = (
            f"{ref.local} does not go onto the image commit {image}, so it cannot have run there as it is"
        )
        return [Problem("port-conflict", message, prepush.RUN_IT)], []
    before, pushed = read_tree(image), worktree.objects_below(tree)
    rebuilds = prepush.rebuilds(before, pushed)
    named = ", ".join([*rebuilds[:NAMED], *(["…"] if len(rebuilds) > NAMED else [])])
    notes = [f"needs an image rebuild: {named}"] if rebuilds else []
    if not prepush.holds_package(manifest, pushed) and common_base(git, ObjectId(image), commit) is None:
        return [], [f"{ref.local} holds nothing of {manifest.distribution.name}, and never did"]
    pushed = {**pushed, **_as_it_ran(worktree, manifest, pushed)}
    return prepush.judge(manifest, before, pushed, ref.local), notes


def _as_it_ran(worktree: Worktree, manifest: Manifest, pushed: prepush.Tree) -> dict[RepoPath, TreeEntry]:
    """What ran with CRLF where git keeps LF, as by ``core.autocrlf`` of a new file: the entries that ran."""
    found = {}
    for item in manifest.overlay:
        entry = pushed.get(item.source)
        if entry is None or not entry.is_file or item.blob in (None, entry.oid):
            continue
        content = worktree.blob(entry.oid)
        if b"\r" not in content:
            ran = content.replace(b"\n", b"\r\n")
            blob = blob_id([ran], len(ran), worktree.repository.object_format)
            if blob == item.blob:
                found[item.source] = structs.replace(entry, oid=blob)
    return found


# -- the target ----------------------------------------------------------------------------------------


def ask(manifest: Manifest) -> Answer:
    """Whether the target still holds an overlay; asked in a thread, for one that freezes."""
    answers: queue.Queue[Answer] = queue.Queue()
    threading.Thread(target=lambda: answers.put(_ask(manifest)), daemon=True).start()
    name = f"{manifest.target.kind}:{manifest.target.name}"
    try:
        return answers.get(timeout=ANSWER_SECONDS)
    except queue.Empty:
        return Answer(note=f"{name} does not answer, so that it still holds the overlay is not known")


def _ask(manifest: Manifest) -> Answer:
    name = f"{manifest.target.kind}:{manifest.target.name}"
    interpreter = manifest.interpreter.path if manifest.target.kind != "local" else None
    overlay = {item.destination: item.installed_sha256 for item in manifest.overlay}
    try:
        transport = open_target(name, interpreter=interpreter)
        container = transport.describe().container_id
        if container != manifest.target.container_id and UNKNOWN not in (
            container,
            manifest.target.container_id,
        ):
            return Answer((_gone(manifest, f"{name} is another container now"),))
        with connect(transport) as session:
            root = manifest.distribution.root
            text, files = session.glance(root, manifest.distribution.name, list(overlay), "sha1")
    except OverlaysyncError as error:
        return Answer(note=f"{name} does not answer ({error.message}); the record alone is compared")
    different = [
        path
        for path, file in files.items()
        if (file.sha256 if file.kind is not FileKind.MISSING else None) != overlay[path]
    ]
    if text is None or different:
        what = f"other content in {', '.join(different[:3])}" if different else "no record of an overlay"
        return Answer((_gone(manifest, f"{name} has {what}"),))
    return Answer()


def _gone(manifest: Manifest, message: str) -> Problem:
    return Problem("overlay-gone", f"{message}; the overlay {manifest.id} was recorded", prepush.RUN_IT)


def _result(problems: Sequence[Problem], notes: Sequence[str], mode: str, stages: Stages) -> Result:
    stops = bool(problems) and mode == "stop"
    sentences = {
        (True, True): "not pushed: this is not what ran",
        (True, False): "not shown to be what ran; pushed all the same, as configured",
        (False, False): "nothing stands in the way of the push",
    }
    return Result(
        command="hook pre-push",
        outcome="refused" if stops else "unchanged",
        exit_code=1 if stops else 0,
        problems=problems_of(problems),
        timings_ms=stages.milliseconds(),
        details={"notes": list(notes), "sentence": sentences[bool(problems), stops], "mode": mode},
    )
