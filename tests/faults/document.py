"""Tallies as text, and as the document ``docs/faults.md``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.faults.judge import Tally
from tests.faults.kinds import ERRORS, Kind

INTRODUCTION = """\
# Injected faults

Pushes and reverts are disturbed at every point where the agent in the target changes something, and judged by
what the next contact makes of it. The points are not listed by hand: an undisturbed run under `strace` tells
every system call on the install root, and then one run for each of them is disturbed there.

After each fault the target must be wholly the **old** tree or wholly the **new** one: contents, bytecode,
modes, owners, times, our own records. What was told must be what happened: success is told of a new tree
only, and a plain failure of an old one only; where a file cannot be put back, it is named. Then the push is
done again where the old tree stood, and the overlay is reverted, which must give back what was there before
the first push. Around the install root lie files, and other names of its files, which must not change.

| kind of fault | what is done |
| --- | --- |
| killed | SIGKILL at a call that changes something |
| one call fails | that one call fails, also where it only opens something, with one of {errors} in turn |
| every change fails from there on | as on a file system that went read-only (EROFS) or broke (EIO): \
rolling back is not possible either, and the next contact has a sound one again |
| killed, and the recovery … | the next contact, which finishes or rolls back what a kill left, meets a \
fault at each of its own calls; kills in the middle of the work, right before the commit point and right \
after it |
| the disk is full | on a tmpfs with room for 0, 1, 2 … pages, and for 0, 1, 2 … inodes, up to what \
suffices; it is full until the next contact has recovered |
| the container's layer is full | the same with the install root in the lower layer of an overlay file \
system |

**Recovered** counts the runs after which something was left to do, and the next contact did it and said so.

This page is written by

```sh
python -m tests.faults.report --all
```

as root, with `strace`; a selection runs with the tests.
"""

HEAD = ("points", "old", "new", "recovered", "anything else")


def as_text(tally: Tally) -> str:
    """One tally, for the terminal."""
    counts = ", ".join(f"{number} {name}" for number, name in zip(_counts([tally]), HEAD, strict=True))
    lines = [f"{tally.change_set}, {tally.kind.value}: {counts}"]
    return "\n".join([*lines, *(f"    WRONG {text}" for text in tally.wrong)])


def as_document(tallies: Sequence[Tally]) -> str:
    change_sets = list(dict.fromkeys(tally.change_set for tally in tallies))
    kinds = {kind: [tally for tally in tallies if tally.kind is kind] for kind in Kind}
    parts = [
        INTRODUCTION.format(errors=", ".join(ERRORS)),
        f"## By kind\n\n{len(change_sets)} change sets.\n",
        _table("kind of fault", {kind.value: rows for kind, rows in kinds.items()}, tallies),
        "## Which call met what\n\nA single disturbed call, in the work or in the recovery.\n",
        _met(tallies),
        "## Anything else\n",
        "".join(f"- {tally.change_set}, {text}\n" for tally in tallies for text in tally.wrong) or "None.\n",
        "## By change set\n",
    ]
    for name in change_sets:
        own = {tally.kind.value: [tally] for tally in tallies if tally.change_set == name}
        parts += [f"### {name[0].upper()}{name[1:]}\n", _table("kind of fault", own)]
    return "\n".join(parts)


def _table(title: str, rows: dict[str, list[Tally]], every: Sequence[Tally] = ()) -> str:
    lines = [f"| {title} | {' | '.join(HEAD)} |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    lines += [f"| {name} | {' | '.join(_counts(tallies))} |" for name, tallies in rows.items()]
    if every:
        lines.append(f"| **all** | {' | '.join(_counts(every))} |")
    return "\n".join(lines) + "\n"


def _counts(tallies: Sequence[Tally]) -> list[str]:
    columns = ((tally.points, tally.old, tally.new, tally.recovered, len(tally.wrong)) for tally in tallies)
    return [str(sum(column)) for column in zip(*columns, strict=True)]


def _met(tallies: Sequence[Tally]) -> str:
    met: Counter[tuple[str, str]] = sum((tally.met for tally in tallies), Counter())
    effects = ("SIGKILL", *ERRORS)
    lines = [f"| system call | {' | '.join(effects)} |", f"| --- | {' | '.join('---:' for _ in effects)} |"]
    for name in sorted({name for name, _ in met}):
        counts = [str(met[name, effect]) for effect in effects]
        lines += [f"| `{name}` | {' | '.join(counts)} |"]
    return "\n".join(lines) + "\n"
