"""Reads everything and decides: the first half of the pipeline, the same for status, push and dry runs."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from overlaysync.app import evidence
from overlaysync.app.contact import Contact
from overlaysync.app.options import Options, Stage
from overlaysync.app.records import overlay_of, read_manifest
from overlaysync.core import drift, modules, workload
from overlaysync.core.classify import DEFAULT_NOT_BUILT, classify, classify_set, needs_content
from overlaysync.core.evidence import image_commit, judge, judge_overlay
from overlaysync.core.mapping import Shipped, prove
from overlaysync.core.planning import make_plan
from overlaysync.core.selecting import Selection, Selector, judge_plausible
from overlaysync.core.shipping import ShippingRule
from overlaysync.model.classified import ClassifiedChange
from overlaysync.model.evidence import Baseline, Evidence
from overlaysync.model.manifest import Acknowledgement, Manifest
from overlaysync.model.plan import Placement, Plan
from overlaysync.model.problem import Problem
from overlaysync.model.target import InstalledFile, InstalledPath, Inventory
from overlaysync.model.worktree import Snapshot
from overlaysync.worktree.worktree import Worktree


class Situation(Struct, frozen=True):
    """Everything that was read, and everything that was decided from it."""

    snapshot: Snapshot
    inventory: Inventory
    baseline: Baseline
    manifest: Manifest | None
    overlay: dict[InstalledPath, Placement]
    files: dict[InstalledPath, InstalledFile]
    mapping: tuple[str, ...]  # which source directory is installed where, with the number of proofs
    workload: workload.Workload
    plan: Plan
    selection: Selection
    problems: tuple[Problem, ...]
    acknowledged: tuple[Acknowledgement, ...]


def survey(contact: Contact, worktree: Worktree, options: Options, stage: Stage) -> Situation:
    """The whole picture. Raises BaselineError, TargetError, LockedError, OverlayDamagedError."""
    stage("reading the worktree")
    snapshot = worktree.snapshot()
    classified = _classify(snapshot, worktree, contact.package.not_built)
    stage("reading the target")
    inventory = contact.open(snapshot.repository.object_format)
    manifest = read_manifest(inventory)
    overlay = overlay_of(manifest)
    problems = modules.judge_installation(contact.interpreter, contact.distribution, contact.name)
    running = find_workload(contact, inventory)
    problems += workload.judge(running)
    stage("proving the baseline")
    shipped, selection = _select(snapshot, inventory, classified, contact)
    problems += [*selection.problems, *judge_plausible(selection.desired, len(shipped.destinations))]
    gathered = evidence.gather(contact, options.image_commit)
    baseline = _baseline(contact, worktree, snapshot, inventory, shipped, gathered)
    baseline_problems = _judge_baseline(baseline, contact, worktree, inventory, selection)
    problems += baseline_problems
    plan, files = Plan(), dict[InstalledPath, InstalledFile]()
    if not any(problem.kind.exit_code == 4 and problem.path is None for problem in baseline_problems):
        stage("planning")
        plan, files, plan_problems = _plan(contact, inventory, selection, overlay, snapshot)
        problems += plan_problems
    standing, acknowledged = _acknowledge(_unique(problems), options.acknowledged)
    return Situation(
        snapshot=snapshot,
        inventory=inventory,
        baseline=baseline,
        manifest=manifest,
        overlay=overlay,
        files=files,
        mapping=_describe(shipped),
        workload=running,
        plan=plan,
        selection=selection,
        problems=tuple(standing),
        acknowledged=acknowledged,
    )


def _classify(
    snapshot: Snapshot, worktree: Worktree, not_built: Sequence[str] | None
) -> tuple[ClassifiedChange, ...]:
    """Classes of all changes; contents are read one path at a time, and only where they are looked at."""
    patterns = DEFAULT_NOT_BUILT if not_built is None else not_built
    broken = {problem.path for problem in snapshot.problems}
    found = []
    for change in snapshot.changes:
        before = after = None
        if needs_content(change.path) and change.path not in broken:
            before = (
                worktree.blob(change.head.oid) if change.head is not None and change.head.is_file else None
            )
            after = worktree.content(change) if change.content is not None else None
        found.append(classify(change, before, after, not_built=patterns))
    return classify_set(found, snapshot.tree.keys())


def find_workload(contact: Contact, inventory: Inventory) -> workload.Workload:
    """The processes of the target that could have the package loaded."""
    return workload.find(
        contact.session.processes(inventory.root, contact.own_processes()),
        contact.interpreter,
        inventory.root,
        ignore=contact.package.workload_ignore,
        whole_machine=contact.identity.kind == "local",
    )


def _select(
    snapshot: Snapshot, inventory: Inventory, classified: Sequence[ClassifiedChange], contact: Contact
) -> tuple[Shipped, Selection]:
    shipped = prove(snapshot.tree, _of_packages(inventory))
    package = contact.package
    rule = ShippingRule(
        snapshot.tree, shipped, _present(snapshot), ships=package.ships, not_shipped=package.not_shipped
    )
    not_built = DEFAULT_NOT_BUILT if package.not_built is None else package.not_built
    selector = Selector(snapshot.tree, shipped, rule, inventory.outside, not_built)
    return shipped, selector.select(classified, snapshot.problems)


def _describe(shipped: Shipped) -> tuple[str, ...]:
    proven = sorted(shipped.pairs.items(), key=lambda item: -item[1])
    return tuple(
        f"{pair.source or '.'}/ is installed as {pair.installed or '.'}/ (proven by {count} files)"
        for pair, count in proven[:5]
    )


def _of_packages(inventory: Inventory) -> list[InstalledFile]:
    """RECORD's files without those of the dist-info, which installers write."""
    return [file for file in inventory.files if not file.path.startswith(inventory.metadata + "/")]


def _present(snapshot: Snapshot) -> set[str]:
    """Paths of the worktree as it is now."""
    present: set[str] = set(snapshot.tree)
    for change in snapshot.changes:
        (present.discard if change.content is None else present.add)(change.path)
    return present


def _baseline(
    contact: Contact,
    worktree: Worktree,
    snapshot: Snapshot,
    inventory: Inventory,
    shipped: Shipped,
    gathered: tuple[Evidence, ...],
) -> Baseline:
    """Evidence and counts. Where another commit than HEAD is named, its files are what is counted."""
    head, commit = snapshot.repository.head, image_commit(gathered)
    files, tree = _of_packages(inventory), snapshot.tree
    if commit is not None and commit != head and worktree.has_commit(commit):
        tree = worktree.tree(commit)
        shipped = prove(tree, files)
    overlay = overlay_of(read_manifest(inventory))
    content = drift.compare(tree, shipped, files, overlay, contact.package.generated)
    return Baseline(head=head, image_commit=commit, evidence=gathered, content=content)


def _judge_baseline(
    baseline: Baseline, contact: Contact, worktree: Worktree, inventory: Inventory, selection: Selection
) -> list[Problem]:
    """Identity first; content is judged only where it can be HEAD's."""
    known = {commit for item in baseline.evidence if (commit := item.commit) and worktree.has_commit(commit)}
    content = baseline.content
    help_text = f"{content.equal} of {content.compared} installed files equal those of HEAD, {baseline.head}"
    problems = judge(baseline, known, shallow=worktree.repository.shallow, content=help_text)
    manifest = read_manifest(inventory)
    problems += judge_overlay(baseline, manifest.baseline.image_commit if manifest is not None else None)
    if problems or contact.distribution.form != "dist-info":
        return problems
    touched = {item.source: item.sha256 for item in selection.desired}
    overlay = overlay_of(manifest)
    return list(drift.judge(content, _of_packages(inventory), touched, overlay))


def _plan(
    contact: Contact,
    inventory: Inventory,
    selection: Selection,
    overlay: dict[InstalledPath, Placement],
    snapshot: Snapshot,
) -> tuple[Plan, dict[InstalledPath, InstalledFile], list[Problem]]:
    destinations = sorted({item.destination for item in selection.desired} | set(overlay))
    files = contact.session.look(
        destinations,
        object_format=snapshot.repository.object_format,
        suffixes=contact.interpreter.extension_suffixes,
        writable=True,
    )
    plan, problems = make_plan(selection.desired, files, overlay, inventory.mounts, inventory.root)
    return plan, files, list(problems)


def _unique(problems: Sequence[Problem]) -> list[Problem]:
    """One problem for each code and path: two looks may meet the same trouble."""
    found: dict[object, Problem] = {}
    for problem in problems:
        key = (problem.code, problem.path) if problem.path is not None else problem
        found.setdefault(key, problem)
    return list(found.values())


def _acknowledge(
    problems: Sequence[Problem], accepted: frozenset[str]
) -> tuple[list[Problem], tuple[Acknowledgement, ...]]:
    standing = [problem for problem in problems if problem.kind.acknowledge not in accepted]
    lifted: dict[str, list[str]] = {}
    for problem in problems:
        risk = problem.kind.acknowledge
        if risk is not None and risk in accepted:
            lifted.setdefault(risk, []).append(problem.path or "")
    return standing, tuple(
        Acknowledgement(risk=risk, paths=tuple(sorted(paths))) for risk, paths in sorted(lifted.items())
    )
