"""Module names of installed paths, and what a resolution must say to count as proof."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from overlaysync.model.plan import Placement
from overlaysync.model.problem import Problem
from overlaysync.model.target import Distribution, InstalledPath, Interpreter, Resolution

NO_ONE_COPY = ("duplicate-distribution", "editable-install")
"""Codes that leave no single installed copy, of which anything else could be told."""

COMPARE_PATHS = "compare the interpreter's sys.path with the install root, or name --interpreter PATH"
UNSHADOW = (
    "remove or rename what shadows it, or start the workload where it is not found first "
    "(working-directory in the configuration)"
)


def module_name(path: InstalledPath) -> str | None:
    """The dotted name by which a path below a search path entry is imported; None when it cannot be."""
    if not path.endswith(".py"):
        return None
    parts = path[:-3].split("/")
    if parts[-1] == "__init__":
        parts = parts[:-1]
    if not parts or not all(part.isidentifier() for part in parts):
        return None
    return ".".join(parts)


def judge_place(resolution: Resolution, expected: str, path: str) -> Problem | None:
    """The module must resolve to ``expected`` (absolute path in the target)."""
    name = resolution.module
    if resolution.origin is None:
        if resolution.error is not None:
            message = f"the import system fails to find {name}: {resolution.error}"
            return Problem("not-importable", message, COMPARE_PATHS, path)
        message = f"the import system does not find {name}; expected {expected}"
        if resolution.locations:
            message += f" (it is only a namespace package: {', '.join(resolution.locations)})"
        return Problem("not-importable", message, COMPARE_PATHS, path)
    if resolution.origin != expected:
        message = f"{name} is imported from {resolution.origin}, not from {expected}"
        return Problem("shadowed", message, UNSHADOW, path)
    return None


def judge_present(resolution: Resolution, expected: str, path: str) -> Problem | None:
    """The module must resolve to ``expected``, and what its loader would run must be that source's code."""
    problem = judge_place(resolution, expected, path)
    if problem is not None:
        return problem
    if resolution.error is not None:
        message = f"{resolution.module} cannot be read by the import system: {resolution.error}"
        return Problem("not-importable", message, "correct the file, or look at it in the target", path)
    if resolution.runs_source is False:
        message = f"{resolution.module} would run bytecode that is not compiled from {expected}"
        return Problem("shadowed", message, "remove the bytecode that the interpreter accepts for it", path)
    if resolution.runs_source is None:
        message = f"{resolution.module} is loaded by {resolution.loader}, so what would run is not proven"
        return Problem("shadowed", message, "remove the import hook that the target installs", path)
    return None


def judge_free(resolution: Resolution, gone: Collection[str], path: str) -> Problem | None:
    """A module that is to be added must not be there yet, but in a file that the same plan removes."""
    if resolution.origin is None or resolution.origin in gone:
        return None
    message = f"{resolution.module} is new, but is already imported from {resolution.origin}"
    return Problem("shadowed", message, UNSHADOW, path)


def judge_absent(resolution: Resolution, gone: str, ours: Collection[str], path: str) -> Problem | None:
    """A removed module must not be found any more, but as a package that was a module, or the reverse.

    ``gone`` is the removed file, ``ours`` are the files that the distribution and its overlay hold; absolute
    in the target.
    """
    package = "/__init__.py"
    other = gone.removesuffix(package) + ".py" if gone.endswith(package) else gone[: -len(".py")] + package
    if resolution.error is not None:
        message = f"whether {resolution.module} is gone cannot be told: {resolution.error}"
        return Problem("not-importable", message, COMPARE_PATHS, path)
    if resolution.origin is None or (resolution.origin == other and other in ours):
        return None
    message = f"{resolution.module} is removed, but is still imported from {resolution.origin}"
    return Problem("shadowed", message, "remove what stands there, or rebuild the image", path)


def choose(interpreters: Sequence[Interpreter]) -> list[Interpreter]:
    """The interpreters that hold the distribution; one for each, when several names start the same one."""
    found: dict[tuple[str, str], Interpreter] = {}
    for item in interpreters:
        if item.holds:
            found.setdefault((item.real, item.prefix), item)
    return list(found.values())


def judge_installation(
    interpreter: Interpreter,
    distribution: Distribution,
    name: str,
    overlay: Mapping[InstalledPath, Placement],
) -> list[Problem]:
    """Whether there is one copy, installed and not linked, and what is imported is of that copy.

    Top-level names that our own ``overlay`` removed are not looked for.
    """
    problems = []
    if len(interpreter.distributions) > 1:
        copies = ", ".join(f"{copy.root}/{copy.metadata}" for copy in interpreter.distributions)
        message = f"{name} is installed more than once, so its version is unknown: {copies}"
        places = [place for item in interpreter.packages if (place := item.origin or item.error) is not None]
        message += f"; what is imported is {', '.join(places)}" if places else "; nothing of it is imported"
        problems.append(Problem("duplicate-distribution", message, "uninstall all but one copy in the image"))
    place = distribution.place
    if place is None:
        form = "editable" if distribution.editable else distribution.form
        message = f"{name} is an {form} install ({distribution.root}/{distribution.metadata})"
        if distribution.editable:
            message += f", and {_no_one_place(distribution)}"
        next_step = "edit the files where the install points to, or install a wheel in the image"
        return [*problems, Problem("editable-install", message, next_step)]
    removed = {module_name(path) for path, item in overlay.items() if item.installed_sha256 is None}
    expected = (package for package in interpreter.packages if package.module not in removed)
    judged = (_judge_package(package, place, interpreter) for package in expected)
    return [*problems, *(problem for problem in judged if problem is not None)]


def _no_one_place(distribution: Distribution) -> str:
    if not distribution.mapped:
        return "what it maps is not told by its metadata"
    places = ", ".join(f"{name} to {path}" for name, path in sorted(distribution.mapped.items()))
    return f"it maps its names to no one directory that holds them all by their names: {places}"


def _judge_package(package: Resolution, root: str, interpreter: Interpreter) -> Problem | None:
    """A top-level name of the distribution must be imported from below its install root."""
    places = [package.origin] if package.origin is not None else list(package.locations)
    if package.error is not None or not places:
        message = f"the import system does not find {package.module}, which {root} holds"
        if package.error:
            message += f": {package.error}"
        return Problem("not-importable", message, COMPARE_PATHS)
    if any(place.startswith(root + "/") for place in places):
        return None
    message = f"{package.module} is imported from {', '.join(places)}, not from {root}"
    message += f" ({_entry(places[0], interpreter)} comes first)"
    return Problem("shadowed", message, UNSHADOW)


def _entry(place: str, interpreter: Interpreter) -> str:
    """The entry of the search path that leads to a place; one that is a link is not told from its target."""
    above = [
        entry for entry in interpreter.search_path if entry and place.startswith(entry.rstrip("/") + "/")
    ]
    if above:
        return f"{max(above, key=len)} of sys.path"
    return "the working directory" if "" in interpreter.search_path else "what an import hook finds"
