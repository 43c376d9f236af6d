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

TYPE_CHECKING = False  # typing itself takes too long to import
if TYPE_CHECKING:
    from collections.abc import Mapping

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
        try:
            _tidy(transaction)
        except OSError as error:
            raise _untidy(area, "every file is in place and recorded", error)
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


def write_record(transaction: Transaction, manifest: str | None) -> None:
    """What ``record`` will put in place, and all else that takes room; nothing is recorded by it.

    ``manifest``: its text, or None for a revert, whose record is the journal's last phase.
    """
    area = transaction.area
    transaction.unnamed_record = None
    _make_room(transaction)
    if manifest is None:
        area.write_new(area.journal, transaction.journal(REVERTED))
    else:
        area.write_new(area.manifest, manifest)
    transaction.unnamed_record = area.journal if manifest is None else area.manifest


def record(transaction: Transaction, name: bytes, expected: Mapping[bytes, str | None]) -> None:
    """The commit point: what ``write_record`` wrote gets its ``name``.

    ``expected``: files that are looked at once more right before, with their digests; None for no file.

    Raises Failure when it was not reached, after rolling back: "apply" where one of the files is another by
    now, else "write"; and Failure("unfinished").
    """
    area = transaction.area
    try:
        kind, trouble = "apply", _changed(area.tree, expected)
        if trouble is None:
            area.rename_new(name)
            if name == area.journal:
                transaction.phase = REVERTED
            _tidy(transaction)
            return
    except OSError as error:
        kind, trouble = "write", reason(error)
    if settle(area) == ROLLED_BACK:
        raise Failure(kind, "the overlay cannot be recorded, so it was rolled back: %s" % trouble)


def _changed(tree: Tree, expected: Mapping[bytes, str | None]) -> str | None:
    """The first file that is not as expected, in words."""
    for path, digest in expected.items():
        try:
            found = tree.sha256(path)
        except LinkInTheWay:
            found = None
        if found != digest:
            return "%s changed in the target after it was proven" % to_text(path)
    return None


def _tidy(transaction: Transaction) -> None:
    """After the commit point. May be done again from the start."""
    area, tree = transaction.area, transaction.tree
    for step in transaction.steps:
        for previous, original in _kept(transaction, step):
            if tree.status(previous) is not None:
                tree.move(previous, original)
        if step.restores:
            for item in [*bytecode.beside(tree, step.original), step.original]:
                tree.remove(item)
    if transaction.phase == REVERTED:
        tree.remove(area.manifest)
    area.leave()


def _make_room(transaction: Transaction) -> None:
    """The directories of the originals: past the commit point a full disk must hinder nothing."""
    for step in transaction.steps:
        for previous, original in _kept(transaction, step):
            transaction.tree.make_directories(split(original)[0], split(previous)[0])


def _kept(transaction: Transaction, step: Step) -> list[tuple[bytes, bytes]]:
    """Where the container's original and its bytecode lie in the transaction, and where they will be kept."""
    if not step.keeps_original or step.before is None:
        return []
    area, tree = transaction.area, transaction.tree
    found = [*bytecode.beside(tree, step.previous), step.previous]
    return [(path, join(area.originals, path[len(area.previous) + 1 :])) for path in found]


def _roll_back(transaction: Transaction) -> None:
    """Puts the old tree back. Raises Failure("unfinished") that tells what stands where it could not."""
    area, tree = transaction.area, transaction.tree
    trouble: dict[bytes, OSError] = {}
    try:
        area.drop_unrecorded()  # first: what stood there may need its room again
    except OSError:
        pass  # it is done again at the end
    for step in reversed(transaction.steps):
        try:
            _undo(transaction, step)
        except OSError as error:
            trouble[step.path] = error
    if trouble:
        raise _not_rolled_back(transaction, trouble)
    try:
        for path in reversed(transaction.made):
            if tree.is_directory(path) and not tree.names(path):
                tree.remove_directory(path)
        area.leave()
    except OSError as error:
        raise _untidy(area, "every file is as it was", error)


def _not_rolled_back(transaction: Transaction, trouble: dict[bytes, OSError]) -> Failure:
    """``trouble``: of each path that had any, why."""
    area, told = transaction.area, []
    for step in transaction.steps:
        state, error = _state(transaction.tree, step), trouble.get(step.path)
        if state is not None:
            why = "" if error is None else " (%s)" % reason(error)
            told.append("%s: %s%s" % (to_text(step.path), state, why))
    if not told:
        return _untidy(area, "every file is as it was", next(iter(trouble.values())))
    rest = "; every other file is as it was" if len(told) < len(transaction.steps) else ""
    kept = "what stood there before is kept in %s" % _where(area)
    return Failure("unfinished", "not rolled back: %s; %s%s" % ("; ".join(told), kept, rest))


def _where(area: Area) -> str:
    return os.fsdecode(os.path.join(area.tree.root, area.transaction))


def _untidy(area: Area, state: str, error: OSError) -> Failure:
    return Failure(
        "unfinished", "%s, but %s cannot be tidied away: %s" % (state, _where(area), reason(error))
    )


def _state(tree: Tree, step: Step) -> str | None:
    """What stands at a step's path, in words; None for what stood there before."""
    try:
        digest = tree.sha256(step.path)
    except OSError as error:
        return "unknown (%s)" % reason(error)
    if digest == step.before:
        return None
    if digest == step.after:
        return "the new content stands there" if digest is not None else "still removed"
    return "neither the old nor the new content stands there"


def _undo(transaction: Transaction, step: Step) -> None:
    """One step back. After a kill in the middle of it, it is done again from the start."""
    tree = transaction.tree
    if transaction.phase == APPLYING:
        if tree.status(step.previous) is not None:
            _put_back(transaction, step)
        elif step.before is None and _holds(tree, step.path, step.after):
            _drop_bytecode(transaction, step)
            tree.remove(step.path)
        elif step.before not in (None, step.after) and _holds(tree, step.path, step.after):
            raise OSError(errno.ENOENT, "what stood there is kept no more")
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
    untouched = _is_untouched(tree, step)
    if not untouched and tree.sha256(step.path) not in (step.after, None):
        raise OSError(errno.ESTALE, "move it away")
    _drop_bytecode(transaction, step)  # also where both are one file, whose new bytecode came back already
    if not untouched:
        transaction.bring_back(step.previous, transaction.area.previous, tree.move)
    tree.remove(step.previous)


def _is_untouched(tree: Tree, step: Step) -> bool:
    """Whether the file that was kept still stands in its place.

    Kept is a second name of it, or a copy where there can be no such; of a copy that was not completed, what
    it was made of has not been touched.
    """
    kept, there = tree.status(step.previous), tree.status(step.path)
    if kept is None or there is None:
        return False
    if os.path.samestat(kept, there):
        return True
    if tree.sha256(step.path) != step.before:
        return False
    return step.before != step.after or tree.sha256(step.previous) != step.before


def _drop_bytecode(transaction: Transaction, step: Step) -> None:
    """What was compiled from the new content meanwhile, or came back with an original, must not stay."""
    for item in bytecode.beside(transaction.tree, step.path):
        transaction.tree.remove(item)
