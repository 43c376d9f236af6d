"""Which problems stand, and which risks were accepted, now or before for the same content."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from overlaysync.core.planning import Desired
from overlaysync.model.manifest import Acknowledgement, Manifest
from overlaysync.model.problem import Problem


def unique(problems: Sequence[Problem]) -> list[Problem]:
    """One problem for each code and path: two looks may meet the same trouble."""
    found: dict[object, Problem] = {}
    for problem in problems:
        key = (problem.code, problem.path) if problem.path is not None else problem
        found.setdefault(key, problem)
    return list(found.values())


def remembered(manifest: Manifest | None, desired: Sequence[Desired]) -> set[tuple[str, str]]:
    """(risk, path) that the overlay's manifest records as accepted, where the content is still the same."""
    if manifest is None:
        return set()
    held = {(item.source, item.installed_sha256) for item in manifest.overlay}
    same = {item.source for item in desired if (item.source, item.sha256) in held}
    return {(item.risk, path) for item in manifest.acknowledged for path in item.paths if path in same}


def unneeded(
    accepted: frozenset[str], acknowledged: Sequence[Acknowledgement], standing: Sequence[Problem]
) -> tuple[str, ...]:
    """Risks that were accepted, and that nothing had: not even what stands all the same."""
    had = {item.risk for item in acknowledged} | {problem.kind.acknowledge for problem in standing}
    return tuple(sorted(accepted - had))


def acknowledge(
    problems: Sequence[Problem], accepted: frozenset[str], before: set[tuple[str, str]]
) -> tuple[tuple[Problem, ...], tuple[Acknowledgement, ...]]:
    """What still stands, and what was accepted: by its risk's name now, or (``before``) for its path."""
    standing: list[Problem] = []
    lifted: dict[str, list[str]] = {}
    for problem in problems:
        risk, path = problem.risk, problem.path or ""
        if risk is not None and (risk in accepted or (risk, path) in before):
            lifted.setdefault(risk, []).append(path)
        else:
            insisted = problem.certain and problem.kind.acknowledge in accepted
            standing.append(_insisted(problem) if insisted else problem)
    return tuple(standing), tuple(
        Acknowledgement(risk=risk, paths=tuple(sorted(paths))) for risk, paths in sorted(lifted.items())
    )


def _insisted(problem: Problem) -> Problem:
    """What somebody tried to accept, and could not."""
    message = f"{problem.message}; it holds in the target too, so it cannot be acknowledged"
    return structs.replace(problem, message=message)
