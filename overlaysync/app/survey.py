"""Reads everything and decides: the first half of the pipeline, the same for status, push and dry runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from msgspec import Struct

from overlaysync.app import package_paths
from overlaysync.app.contact import Contact
from overlaysync.app.options import Options, Stage
from overlaysync.app.reading import Reading, WorktreeReading, build_files_of, not_built, originals, read
from overlaysync.core import companions, drift, editable, extensions, modules, provenance, workload
from overlaysync.core.acknowledging import acknowledge, remembered, unique, unneeded
from overlaysync.core.backends import excluded, selected, ships_whole
from overlaysync.core.colliding import judge_letter_case
from overlaysync.core.counting import counted
from overlaysync.core.evidence import image_commit, judge, judge_overlay
from overlaysync.core.mapping import Shipped, prove
from overlaysync.core.planning import make_plan
from overlaysync.core.selecting import (
    Selection,
    Selector,
    judge_plausible,
    looked_at,
    unrecorded_problem,
)
from overlaysync.core.shipping import ShippingRule
from overlaysync.model.evidence import Baseline
from overlaysync.model.manifest import Acknowledgement
from overlaysync.model.plan import Plan
from overlaysync.model.problem import Problem
from overlaysync.model.target import InstalledFile, InstalledPath
from overlaysync.model.worktree import ObjectId, RepoPath, Sha256, Snapshot, TreeEntry
from overlaysync.worktree.worktree import Worktree


class Image(Struct, frozen=True):
    """Of the commit that is compared with what is installed: the image's; HEAD where no other is known."""

    tree: Mapping[RepoPath, TreeEntry]
    shipped: Shipped
    build_files: Mapping[str, bytes]


class Situation(Struct, frozen=True):
    """What was read, and what was decided from it.

    ``files``: every destination of the plan as it is now. ``problems``: what stands in the way;
    ``acknowledged``: what would, had it not been accepted; ``unneeded``: risks that were accepted, and that
    nothing had. ``pointers``: installed Git LFS pointer texts. ``shipped``: of HEAD.
    """

    reading: Reading
    shipped: Shipped
    image: Image
    selection: Selection
    baseline: Baseline
    plan: Plan
    files: dict[InstalledPath, InstalledFile]
    problems: tuple[Problem, ...]
    acknowledged: tuple[Acknowledgement, ...]
    unneeded: tuple[str, ...]
    pointers: tuple[InstalledPath, ...]


def survey(
    contact: Contact,
    worktree: Worktree,
    options: Options,
    stage: Stage,
    looked: WorktreeReading | None = None,
) -> Situation:
    """The whole picture. ``looked``: see ``read``.

    Raises BaselineError, TargetError, LockedError, OverlayDamagedError.
    """
    reading = read(contact, worktree, options, stage, looked)
    stage("proving the baseline")
    shipped = _prove(reading, reading.snapshot.tree, contact)
    selection = _select(reading, shipped, contact)
    image = _image(reading, shipped, contact, worktree)
    pointed = worktree.pointed(drift.possible_pointers(image.tree, image.shipped, reading.files))
    baseline = _baseline(reading, image, contact, pointed)
    identity_problems = _judge_identity(contact, reading, baseline)
    installation = modules.judge_installation(
        contact.interpreter, contact.distribution, contact.name, reading.overlay
    )
    problems = [
        *installation,
        *workload.judge(reading.workload),
        *companions.judge(contact.name, contact.interpreter, contact.identity, reading.manifest),
        *provenance.judge_mounts(reading.inventory),
        *extensions.judge(reading.inventory, contact.interpreter),
        *selection.problems,
        *_judge_editable(contact, reading, shipped),
        *judge_letter_case(selection.desired, (file.path for file in reading.files)),
        *judge_plausible(selection.desired, len(shipped.destinations)),
        *identity_problems,
    ]
    plan, files = Plan(), dict[InstalledPath, InstalledFile]()
    judged = not identity_problems and not installation  # else some was not looked for
    if not identity_problems and not any(item.code in modules.NO_ONE_COPY for item in installation):
        stage("planning")
        plan, files, plan_problems = _plan(contact, reading, selection)
        problems += [*_judge_content(contact, reading, baseline, selection), *plan_problems]
        if not installation:
            stage("asking what is imported")
            problems += _judge_places(contact, plan, reading.inventory.root)
            problems += package_paths.judge(plan, reading.snapshot, worktree)
    standing, acknowledged = acknowledge(
        unique(problems), options.acknowledged, remembered(reading.manifest, selection.desired)
    )
    return Situation(
        reading=reading,
        shipped=shipped,
        image=image,
        selection=selection,
        baseline=baseline,
        plan=plan,
        files=files,
        problems=standing,
        acknowledged=acknowledged,
        unneeded=unneeded(options.acknowledged, acknowledged, standing) if judged else (),
        pointers=drift.installed_pointers(reading.files, pointed),
    )


def _image(reading: Reading, shipped: Shipped, contact: Contact, worktree: Worktree) -> Image:
    tree = reading.image_tree
    if tree is None or tree is reading.snapshot.tree:
        return Image(reading.snapshot.tree, shipped, reading.build_files)
    return Image(tree, _prove(reading, tree, contact), build_files_of(tree, worktree))


def _prove(reading: Reading, tree: Mapping[RepoPath, TreeEntry], contact: Contact) -> Shipped:
    return prove(tree, reading.files, reading.overlay, not_shipped=contact.package.not_shipped)


def _select(reading: Reading, shipped: Shipped, contact: Contact) -> Selection:
    package, snapshot = contact.package, reading.snapshot
    rule = ShippingRule(
        snapshot.tree,
        shipped,
        _present(snapshot),
        ships=package.ships,
        not_shipped=package.not_shipped,
        whole=ships_whole(reading.build_files),
        selection=selected(reading.build_files),
        excluded=excluded(reading.build_files),
    )
    selector = Selector(snapshot.tree, shipped, rule, reading.inventory.outside, not_built(contact))
    return selector.select(reading.classified, snapshot.problems)


def _present(snapshot: Snapshot) -> set[str]:
    """Paths of the worktree as it is now."""
    present: set[str] = set(snapshot.tree)
    for change in snapshot.changes:
        (present.discard if change.content is None else present.add)(change.path)
    return present


def _baseline(
    reading: Reading, image: Image, contact: Contact, pointed: Mapping[ObjectId, Sha256]
) -> Baseline:
    """Evidence and counts. Where another commit than HEAD is named, its files are what is counted."""
    return Baseline(
        head=reading.snapshot.repository.head,
        image_commit=image_commit(reading.evidence),
        evidence=reading.evidence,
        content=drift.compare(
            image.tree, image.shipped, reading.files, reading.overlay, contact.package.generated, pointed
        ),
    )


def _judge_editable(contact: Contact, reading: Reading, shipped: Shipped) -> list[Problem]:
    snapshot, distribution, not_shipped = reading.snapshot, contact.distribution, contact.package.not_shipped
    root = os.path.realpath(snapshot.repository.root)
    return [
        *editable.judge_tree(distribution, reading.inventory, contact.identity, root),
        *editable.judge_new_names(distribution, shipped, snapshot.changes, snapshot.tree, not_shipped),
    ]


def _judge_identity(contact: Contact, reading: Reading, baseline: Baseline) -> list[Problem]:
    """Whether HEAD is the image's commit, and that of the overlay that is there."""
    itself = companions.of_name(contact.name, contact.interpreter)
    content, manifest = baseline.content, reading.manifest
    equal = counted(content.compared, "installed file equals", "installed files equal")
    help_text = f"{content.equal} of {equal} those of HEAD, {baseline.head}"
    return [
        *judge(baseline, reading.known, repository=reading.snapshot.repository, content=help_text),
        *provenance.judge(reading.evidence, itself, reading.inventory, contact.identity),
        *judge_overlay(baseline, manifest.baseline.image_commit if manifest is not None else None),
    ]


def _judge_content(
    contact: Contact, reading: Reading, baseline: Baseline, selection: Selection
) -> Sequence[Problem]:
    touched = {item.source: item.sha256 for item in selection.desired}
    kept = originals(contact, reading.inventory.root)
    return (
        *drift.judge(baseline.content, reading.files, touched, reading.overlay, kept),
        *drift.judge_strays(
            reading.inventory.strays, reading.overlay, contact.interpreter.extension_suffixes
        ),
    )


def _plan(
    contact: Contact, reading: Reading, selection: Selection
) -> tuple[Plan, dict[InstalledPath, InstalledFile], tuple[Problem, ...]]:
    unrecorded = looked_at(selection)
    files = contact.session.look(
        sorted({item.destination for item in selection.desired} | set(reading.overlay) | set(unrecorded)),
        object_format=reading.snapshot.repository.object_format,
        suffixes=contact.interpreter.extension_suffixes,
        writable=True,
    )
    inventory = reading.inventory
    kept = originals(contact, inventory.root)
    plan, problems = make_plan(selection.desired, files, reading.overlay, inventory.mounts, kept)
    standing = (unrecorded_problem(path, place, files[place]) for place, path in unrecorded.items())
    return plan, files, (*problems, *(item for item in standing if item is not None))


def _judge_places(contact: Contact, plan: Plan, root: str) -> list[Problem]:
    """Modules that are there must be imported from their destination; new ones must not be there at all.

    Code is not judged here: stale bytecode is dropped with the write, and judged by the read-back.
    """
    named = [(item, name) for item in plan.operations if (name := modules.module_name(item.destination))]
    if not named:
        return []
    gone = {f"{root}/{item.destination}" for item in plan.operations if item.after is None}
    names = [name for _, name in named]
    found, _ = contact.session.read_back(contact.interpreter.path, contact.setting, names, [], code=False)
    problems = []
    for (item, _), resolution in zip(named, found, strict=True):
        if item.before is not None:
            problem = modules.judge_place(resolution, f"{root}/{item.destination}", item.source)
        else:
            problem = modules.judge_free(resolution, gone, item.source)
        if problem is not None:
            problems.append(problem)
    return problems
