"""How a transaction ends: recorded and tidied up, or rolled back; also after a kill at any instant."""

import os

from overlaysync.agent import bytecode
from overlaysync.agent.failure import Failure
from overlaysync.agent.frames import to_text
from overlaysync.agent.transaction import APPLYING, REVERTED, Transaction
from overlaysync.agent.tree import join, split


def recover(area):
    """Settles an interrupted transaction; returns one sentence on it, or None when there was none."""
    if area.tree.status(area.transaction) is None:
        return None
    _, journal = area.read(area.journal)
    if journal is None:
        area.remove_tree(area.transaction)
        area.leave()
        return "a transaction that had not begun was cleared away"
    try:
        transaction = Transaction(area, journal)
    except (KeyError, TypeError, AttributeError) as error:
        raise Failure("damaged", "the journal of an interrupted transaction cannot be read: %r" % error)
    _, manifest = area.read(area.manifest)
    if transaction.phase == REVERTED or (manifest or {}).get("id") == transaction.identity:
        tidy(transaction)
        return "an interrupted transaction (%s) was finished" % transaction.identity
    roll_back(transaction)
    return "an interrupted transaction (%s) was rolled back" % transaction.identity


def record(transaction, manifest):
    """The commit point: the manifest's rename; for a revert (None) the journal's last phase."""
    if manifest is None:
        transaction.phase = REVERTED
        transaction.write_journal()
    else:
        transaction.area.write(transaction.area.manifest, manifest)
    tidy(transaction)


def tidy(transaction):
    """After the commit point. May be done again from the start."""
    area, tree = transaction.area, transaction.tree
    for step in transaction.steps:
        if step.keeps_original and step.before is not None:
            _keep(transaction, step)
        elif step.restores:
            for item in bytecode.beside(tree, step.original) + [step.original]:
                tree.remove(item)
    if transaction.phase == REVERTED:
        tree.remove(area.manifest)
    area.remove_tree(area.transaction)
    area.leave()


def _keep(transaction, step):
    """Moves the container's original, and its bytecode, from the transaction to the originals."""
    area, tree = transaction.area, transaction.tree
    for previous in bytecode.beside(tree, step.previous) + [step.previous]:
        path = previous[len(area.previous) + 1 :]
        if tree.status(previous) is not None:
            original = join(area.originals, path)
            tree.make_directories(split(original)[0], split(previous)[0])
            tree.move(previous, original)


def roll_back(transaction):
    """Puts the old tree back. Raises Failure("unfinished") with each path whose state is not restored."""
    area, tree = transaction.area, transaction.tree
    trouble = []
    for step in reversed(transaction.steps):
        try:
            _undo(transaction, step)
        except OSError as error:
            trouble.append("%s: %s" % (to_text(step.path), error.strerror or error))
    if trouble:
        where = os.fsdecode(os.path.join(tree.root, area.transaction))
        raise Failure(
            "unfinished", "not rolled back (what stood there is kept in %s): %s" % (where, "; ".join(trouble))
        )
    for path in reversed(transaction.made):
        if tree.is_directory(path) and not tree.names(path):
            tree.remove_directory(path)
    area.remove_tree(area.transaction)
    area.leave()


def _undo(transaction, step):
    area, tree = transaction.area, transaction.tree
    staged = tree.status(step.temporary) is not None
    if transaction.phase == APPLYING:
        if tree.status(step.previous) is not None:
            _undo_bytecode(tree, step)
            # A rename onto another name of the same file does nothing, so the kept name may remain.
            transaction.bring_back(step.previous, area.previous, tree.move)
        elif step.before is None and step.after is not None and not staged:
            _undo_bytecode(tree, step)
            tree.remove(step.path)
        for item in bytecode.beside(tree, step.previous):
            transaction.bring_back(item, area.previous, tree.move)
    tree.remove(step.temporary)


def _undo_bytecode(tree, step):
    """What was compiled from the new content meanwhile, or came back with an original, must not stay."""
    for item in bytecode.beside(tree, step.path):
        tree.remove(item)
