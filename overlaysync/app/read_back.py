"""Reads back: the destinations' bytes from the target's file system, and what its Python would import."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from msgspec import Struct

from overlaysync.app.contact import Contact
from overlaysync.core.modules import judge_absent, judge_place, judge_present, module_name
from overlaysync.model.problem import Problem
from overlaysync.model.target import FileKind, InstalledFile, InstalledPath, Inventory, Resolution
from overlaysync.model.worktree import Sha256

AGAIN = "let what writes there come to rest, then run the command again"


class ReadBack(Struct, frozen=True):
    """What was read, and what is not as it should be."""

    files: tuple[InstalledFile, ...] = ()
    imports: tuple[Resolution, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_back(
    contact: Contact,
    inventory: Inventory,
    expected: Mapping[InstalledPath, Sha256 | None],
    restored: Collection[InstalledPath] = (),
    way_back: Callable[[InstalledFile], str] = lambda _: AGAIN,
) -> ReadBack:
    """Compares the target with ``expected``: digest by destination, None for no file.

    Of ``restored`` originals the bytes and the place are the proof: whether they compile, and with which
    bytecode they came, is the image's own. ``way_back``: what to do about a file that is another one.
    """
    if not expected:
        return ReadBack()
    root = inventory.root
    files = contact.session.look(sorted(expected), object_format="sha1")
    problems = [
        problem
        for path, file in files.items()
        if (problem := _judge_bytes(file, f"{root}/{path}", expected[path], way_back)) is not None
    ]
    gone = {path for path, file in files.items() if file.kind is FileKind.MISSING}
    imports, import_problems = _prove_imports(contact, inventory, expected, restored, gone)
    return ReadBack(tuple(files.values()), imports, (*problems, *import_problems))


def _prove_imports(
    contact: Contact,
    inventory: Inventory,
    expected: Mapping[InstalledPath, Sha256 | None],
    restored: Collection[InstalledPath],
    gone: Collection[InstalledPath],
) -> tuple[tuple[Resolution, ...], tuple[Problem, ...]]:
    """By a fresh interpreter, as the workload's user: files can be read, modules resolve to them.

    ``gone``: what is not there at all. Where it should be, that is told already, and is why it is not found.
    """
    root = inventory.root
    recorded = {file.path for file in inventory.files}
    ours = {f"{root}/{path}" for path in recorded | set(expected) if expected.get(path, "") is not None}
    modules = {path: name for path in sorted(expected) if (name := module_name(path)) is not None}
    present = {f"{root}/{path}": path for path in sorted(expected) if expected[path] is not None}
    answers, refused = contact.session.read_back(
        contact.interpreter.path, contact.setting, list(modules.values()), list(present)
    )
    unreadable = {present[file]: reason for file, reason in refused}
    problems = []
    for (path, _), resolution in zip(modules.items(), answers, strict=True):
        if path in unreadable or (path in gone and expected[path] is not None):
            continue  # which is why it cannot be imported
        if expected[path] is None:
            problem = judge_absent(resolution, f"{root}/{path}", ours, path)
        else:
            judge = judge_place if path in restored else judge_present
            problem = judge(resolution, f"{root}/{path}", path)
        if problem is not None:
            problems.append(problem)
    for path, reason in unreadable.items():
        if path in gone:
            continue
        who = f"the workload's user (uid {contact.interpreter.uid})"
        message = f"{root}/{path} cannot be read as {who}: {reason}"
        next_step = "look at its mode and labels in the target, and at those of the directories above it"
        problems.append(Problem("not-importable", message, next_step, path))
    return tuple(answers), tuple(problems)


def _judge_bytes(
    file: InstalledFile, where: str, expected: Sha256 | None, way_back: Callable[[InstalledFile], str]
) -> Problem | None:
    if expected is None and file.kind is FileKind.MISSING:
        return None
    if file.kind is FileKind.FILE and file.sha256 == expected:
        return None
    found = file.sha256 if file.kind is FileKind.FILE else file.kind.value
    message = f"{where} holds {found}, expected {expected or 'no file'}"
    return Problem("original-differs", message, way_back(file), file.path)
