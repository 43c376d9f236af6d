"""How a transaction ends: recorded and tidied up, or rolled back; also after a kill at any instant."""

from __future__ import annotations

import errno
import os

from overlaysync.agent import bytecode
from overlaysync.agent.area import Area
from overlaysync.agent.failure import Failure, reason
from overlaysync.agent.frames import to_text
from overlaysync.agent.transaction import APPLYING, REVERTED, Step, Transaction
from overlaysync.agent.tree import LinkInTheWay, Tree, join, split

CLEARED, ROLLED_BACK, FINISHED = "cleared away", "rolled back", "finished"


def settle(area: Area) -> str | None:
    """Ends what the journal on the disk tells of, forwards or backwards; how, or None without a journal.

    May be done again from the start. Raises Failure("damaged") for a journal that is not ours, and
    Failure("unfinished") with each path whose state is not restored.
    """
    try:
        return _settle(area)
    except OSError as error:
        raise Failure("unfinished", "an interrupted transaction cannot be settled: %s" % reason(error))


def _settle(area: Area) -> str | None:
    tree = area.tree
    if tree.status(area.transaction) is None:
        return None
    _, journal = area.read(area.journal)
    if journal is None:
        area.leave()
        return CLEARED
    try:
        transaction = Transaction(area, journal)
    except ValueError as error:
        where = os.fsdecode(os.path.join(tree.root, area.journal))
        raise Failure("damaged", "the journal of an interrupted transaction, %s: %s" % (where, error))
    _, manifest = area.read(area.manifest)
    if transaction.phase == REVERTED or (manifest or {}).get("id") == transaction.identity:
        _tidy(transaction)
        return FINISHED
    _roll_back(transaction)
    return ROLLED_BACK


def recover(area: Area) -> str | None:
    """At each contact: settles an interrupted transaction; a sentence on it, or None when there was none."""
    area.check()
    outcome = settle(area)
    if outcome is None and area.tree.status(area.manifest) is None:
        try:
            area.leave()  # a kill between the first two directories, or the last two
        except OSError:
            pass  # empty directories hinder nobody, and a reader may not be allowed to remove them
    return None if outcome is None else "an interrupted transaction was %s" % outcome


def record(transaction: Transaction, manifest: str | None) -> None:
    """The commit point: the manifest's rename; for a revert (None) the journal's last phase.

    Raises Failure("apply") when it was not reached, after rolling back, and Failure("unfinished").
    """
    area = transaction.area
    try:
        if manifest is None:
            transaction.phase = REVERTED
            transaction.write_journal()
        else:
            area.write(area.manifest, manifest)
        _tidy(transaction)
    except OSError as error:
        trouble = reason(error)
    else:
        return
    if settle(area) == ROLLED_BACK:
        raise Failure("apply", "the overlay cannot be recorded, so it was rolled back: %s" % trouble)


def _tidy(transaction: Transaction) -> None:
    """After the commit point. May be done again from the start."""
    area, tree = transaction.area, transaction.tree
    for step in transaction.steps:
        if step.keeps_original and step.before is not None:
            _keep(transaction, step)
        elif step.restores:
            for item in [*bytecode.beside(tree, step.original), step.original]:
                tree.remove(item)
    if transaction.phase == REVERTED:
        tree.remove(area.manifest)
    area.leave()


def _keep(transaction: Transaction, step: Step) -> None:
    """Moves the container's original, and its bytecode, from the transaction to the originals."""
    area, tree = transaction.area, transaction.tree
    for previous in [*bytecode.beside(tree, step.previous), step.previous]:
        if tree.status(previous) is not None:
            original = join(area.originals, previous[len(area.previous) + 1 :])
            tree.make_directories(split(original)[0], split(previous)[0])
            tree.move(previous, original)


def _roll_back(transaction: Transaction) -> None:
    """Puts the old tree back. Raises Failure("unfinished") with each path whose state is not restored."""
    area, tree = transaction.area, transaction.tree
    trouble = []
    for step in reversed(transaction.steps):
        try:
            _undo(transaction, step)
        except OSError as error:
            trouble.append("%s: %s" % (to_text(step.path), reason(error)))
    if trouble:
        where = os.fsdecode(os.path.join(tree.root, area.transaction))
        raise Failure(
            "unfinished", "not rolled back (what stood there is kept in %s): %s" % (where, "; ".join(trouble))
        )
    for path in reversed(transaction.made):
        if tree.is_directory(path) and not tree.names(path):
            tree.remove_directory(path)
    area.leave()


def _undo(transaction: Transaction, step: Step) -> None:
    """One step back. After a kill in the middle of it, it is done again from the start."""
    tree = transaction.tree
    if transaction.phase == APPLYING:
        if tree.status(step.previous) is not None:
            _put_back(transaction, step)
        elif step.before is None and _holds(tree, step.path, step.after):
            _drop_bytecode(transaction, step)
            tree.remove(step.path)
        for item in bytecode.beside(tree, step.previous):
            transaction.bring_back(item, transaction.area.previous, tree.move)
        bytecode.drop_empty_cache(tree, split(step.path)[0])
    try:
        tree.remove(step.temporary)
    except LinkInTheWay:
        pass  # nothing of ours is to be reached there; content waits under no such name


def _holds(tree: Tree, path: bytes, digest: str | None) -> bool:
    try:
        return tree.sha256(path) == digest
    except LinkInTheWay:
        return False  # somebody else's


def _put_back(transaction: Transaction, step: Step) -> None:
    """Gives the file that stood there its place again, unless it still has it."""
    tree = transaction.tree
    if not _is_untouched(tree, step):
        if tree.sha256(step.path) not in (step.after, None):
            raise OSError(errno.ESTALE, "neither the old nor the new content stands there; move it away")
        _drop_bytecode(transaction, step)
        transaction.bring_back(step.previous, transaction.area.previous, tree.move)
    tree.remove(step.previous)


def _is_untouched(tree: Tree, step: Step) -> bool:
    """Whether the kept file is a second name of what stands there, or a copy where there can be no such."""
    kept, there = tree.status(step.previous), tree.status(step.path)
    if kept is None or there is None:
        return False
    if os.path.samestat(kept, there):
        return True
    return step.before != step.after and tree.sha256(step.path) == tree.sha256(step.previous)


def _drop_bytecode(transaction: Transaction, step: Step) -> None:
    """What was compiled from the new content meanwhile, or came back with an original, must not stay."""
    for item in bytecode.beside(transaction.tree, step.path):
        transaction.tree.remove(item)
