"""What is pushed, or reverted, while faults are injected: one set for each way that they differ."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from overlaysync.remote.session import AgentSession
from tests.agent.vocabulary import LONG_AGO, Edit, Site

Edits = Callable[[Site], list[Edit]]


@dataclass(frozen=True)
class ChangeSet:
    """``lay_out`` installs the files; ``before`` are the pushes that came earlier; then ``edits`` are made.

    ``drift`` is what others did to the installation in between. ``always``: injections of strace that belong
    to the target, not to a fault. ``prefixed``: there is bytecode below a ``PYTHONPYCACHEPREFIX``.
    """

    name: str
    edits: Edits
    lay_out: Callable[[Site, Path], object] = lambda site, python: None
    before: tuple[Edits, ...] = ()
    drift: Callable[[Site], object] = lambda site: None
    always: tuple[str, ...] = ()
    prefixed: bool = False

    def prepare(self, site: Site, python: Path, session: AgentSession) -> None:
        """The overlay that is there before; to be called after ``lay_out``."""
        for number, edits in enumerate(self.before):
            site.open(session)
            transact(site, session, edits(site), f"before-{number}")
        self.drift(site)

    def work(self, site: Site, session: AgentSession) -> None:
        """To be called on a root that is open."""
        transact(site, session, self.edits(site), "work", [str(prefix(site))] if self.prefixed else [])


def transact(
    site: Site, session: AgentSession, edits: list[Edit], identity: str, prefixes: list[str] | None = None
) -> None:
    """All of a transaction. When no overlay is left, nothing is recorded, as after a revert."""
    after = Site(site.root, dict(site.originals), list(site.directories))
    executable = [
        edit.operation.destination for edit in edits if str(edit.operation.destination)[-3:] == "run"
    ]
    session.begin(identity, [edit.operation for edit in edits], executable, site.directories)
    for number, edit in enumerate(edits):
        if edit.content is not None:
            session.stage(number, [edit.content])
    applied = session.apply(prefixes or [], [str(site.root)])
    after.note(edits, applied)
    session.write_record(f'{{"id": "{identity}"}}' if after.originals else None)
    session.record()
    site.originals = after.originals
    site.directories = after.directories if after.originals else []


def prefix(site: Site) -> Path:
    return site.root.parent / "pycache"


# -- installations -----------------------------------------------------------------------------------------


def many(site: Site, python: Path) -> None:
    for number in range(8):
        site.write(f"sample/parts/part_{number:02}.py", f"NUMBER = {number}\n")
    site.compile(python)


def compiled(*options: str) -> Callable[[Site, Path], object]:
    return lambda site, python: site.compile(python, *options)


def three_levels(site: Site, python: Path) -> None:
    for level in ("-B", "-O", "-OO"):
        command = [str(python), "-I", level, "-m", "compileall", "-q", str(site.root / "sample")]
        subprocess.run(command, check=True, timeout=60)


def several_tags(site: Site, python: Path) -> None:
    """As other interpreters, and other levels of optimisation, would have left it."""
    three_levels(site, python)
    for path in sorted(site.root.rglob("*.pyc")):
        for tag in ("cpython-312", "pypy39", "cpython-310.pytest"):
            copy = path.with_name(f"{path.name.partition('.')[0]}.{tag}.pyc")
            copy.write_bytes(path.read_bytes())
            os.utime(copy, (LONG_AGO, LONG_AGO))


def below_a_prefix(site: Site, python: Path) -> None:
    """Also of a module that nobody touches: its bytecode must stay."""
    mirrored = prefix(site) / str(site.root).strip("/") / "sample"
    mirrored.mkdir(parents=True)
    for stem in ("engine", "helper", "untouched"):
        (mirrored / f"{stem}.cpython-38.pyc").write_bytes(b"bytecode of " + stem.encode())


def hard_linked(site: Site, python: Path) -> None:
    """As uv installs by default: the cache holds other names of the same files."""
    cache = site.root.parent / "cache"
    shutil.copytree(site.root, cache, copy_function=os.link)
    site.compile(python)


def reinstall_from_cache(site: Site) -> None:
    """The very files of the cache come back, which the overlay's originals are other names of."""
    for path in ("sample/engine.py", "sample/helper.py"):
        (site.root / path).unlink(missing_ok=True)
        os.link(site.root.parent / "cache" / path, site.root / path)


def reinstall(site: Site) -> None:
    """Equal files, but new ones."""
    site.write("sample/engine.py", "GENERATION = 1\n")
    site.write("sample/helper.py", "def helped():\n    return 1\n")
    shutil.rmtree(site.root / "sample/fresh", ignore_errors=True)


def owned_and_odd_modes(site: Site, python: Path) -> None:
    """Of a user and a group of its own where that can be arranged, with modes that installers do not give."""
    site.compile(python)
    modes = {"sample/engine.py": 0o640, "sample/helper.py": 0o755, "sample/data.json": 0o444}
    for path in [site.root / "sample", *sorted((site.root / "sample").rglob("*"))]:
        if os.geteuid() == 0:
            os.chown(path, 1234, 4321)
        path.chmod(modes.get(str(path.relative_to(site.root)), 0o2775 if path.is_dir() else 0o664))


ODD = ("sample/two words.py", "sample/größe.py", "sample/line\nfeed.py", "sample/-rf.py", "sample/日本/例.py")


def odd_names(site: Site, python: Path) -> None:
    for path in ODD:
        site.write(path, "ODD = 1\n")
    site.compile(python)


DEEP = "sample/" + "/".join(f"level_{number}" for number in range(12))


def deep(site: Site, python: Path) -> None:
    site.write(f"{DEEP}/leaf.py", "DEPTH = 12\n")
    site.compile(python)


def package_of_one(site: Site, python: Path) -> None:
    site.write("sample/lonely/__init__.py", "")
    site.compile(python)


def top_level_module(site: Site, python: Path) -> None:
    site.write("sample_cli.py", "def main():\n    return 1\n")


def large(site: Site, python: Path) -> None:
    site.write("sample/tables.py", "TABLE = '''" + "old\n" * 500_000 + "'''\n")


# -- edits -------------------------------------------------------------------------------------------------


def replace_one(site: Site) -> list[Edit]:
    return [site.replace("sample/engine.py", "GENERATION = 2\n")]


def replace_again(site: Site) -> list[Edit]:
    return [site.replace("sample/engine.py", "GENERATION = 3\n")]


def replace_two(site: Site) -> list[Edit]:
    return [*replace_one(site), site.replace("sample/helper.py", "def helped():\n    return 2\n")]


def replace_many(site: Site) -> list[Edit]:
    return [site.replace(f"sample/parts/part_{number:02}.py", f"NUMBER = -{number}\n") for number in range(8)]


def add_in_new_directories(site: Site) -> list[Edit]:
    return [
        site.add("sample/fresh/deep/new.py", "NEW = 1\n"),
        site.add("sample/fresh/__init__.py", ""),
        site.add("sample/other/tool.run", "#!/bin/sh\n"),
    ]


def remove_all_of_directories(site: Site) -> list[Edit]:
    return [site.remove("sample/lonely/only.py"), site.remove("sample/helper.py")]


def module_to_package(site: Site) -> list[Edit]:
    return [
        site.remove("sample/helper.py"),
        site.add("sample/helper/__init__.py", "from .inner import helped\n"),
        site.add("sample/helper/inner.py", "def helped():\n    return 2\n"),
    ]


def package_to_module(site: Site) -> list[Edit]:
    return [
        site.remove("sample/lonely/__init__.py"),
        site.remove("sample/lonely/only.py"),
        site.add("sample/lonely.py", "ALONE = True\n"),
    ]


def package_back_to_module(site: Site) -> list[Edit]:
    return [
        site.restore("sample/helper/__init__.py"),
        site.restore("sample/helper/inner.py"),
        site.restore("sample/helper.py"),
        site.replace("sample/engine.py", "GENERATION = 4\n"),
    ]


def data(site: Site) -> list[Edit]:
    return [
        site.replace("sample/data.json", '{"heads": 8}\n'),
        site.add("sample/templates/page.html", "<p>"),
        site.add("sample/more.json", "{}\n"),
    ]


def empty(site: Site) -> list[Edit]:
    """The ``__init__.py`` was empty; ``helper.py`` becomes so."""
    return [
        site.replace("sample/__init__.py", "VERSION = 2\n"),
        site.replace("sample/helper.py", ""),
        site.add("sample/nothing.py", ""),
    ]


def replace_large(site: Site) -> list[Edit]:
    return [site.replace("sample/tables.py", "TABLE = '''" + "new\n" * 600_000 + "'''\n"), *replace_one(site)]


def replace_odd(site: Site) -> list[Edit]:
    edits = [site.replace(path, "ODD = 2\n") for path in ODD[1:]]
    return [site.remove(ODD[0]), *edits, site.add("sample/new line\n/ö.py", "ODD = 3\n")]


def replace_deep(site: Site) -> list[Edit]:
    return [site.remove(f"{DEEP}/leaf.py"), site.add(f"sample/new/{DEEP}/leaf.py", "DEPTH = 14\n")]


def replace_top_level(site: Site) -> list[Edit]:
    return [
        site.replace("sample_cli.py", "def main():\n    return 2\n"),
        site.add("sample_more.py", "MORE = 1\n"),
    ]


def overlay(site: Site) -> list[Edit]:
    """A little of everything."""
    return [
        site.replace("sample/engine.py", "GENERATION = 2\n"),
        site.remove("sample/lonely/only.py"),
        site.replace("sample/data.json", '{"heads": 8}\n'),
        site.add("sample/fresh/new.py", "NEW = 1\n"),
    ]


def everything_at_once(site: Site) -> list[Edit]:
    """All kinds of operations, on top of ``overlay``."""
    return [
        site.replace("sample/helper.py", "def helped():\n    return 2\n"),
        site.add("sample/fresh/deep/new.py", "NEW = 1\n"),
        site.remove("sample/fresh/new.py"),
        site.restore("sample/engine.py"),
        site.restore("sample/lonely/only.py"),
        site.replace("sample/data.json", '{"heads": 16}\n'),
    ]


def some_back(site: Site) -> list[Edit]:
    return [site.restore("sample/engine.py"), site.restore("sample/fresh/new.py")]


def replace_and_add(site: Site) -> list[Edit]:
    return [*replace_two(site), site.add("sample/fresh/new.py", "NEW = 1\n")]


def revert(site: Site) -> list[Edit]:
    return site.revert()


NO_LINKS = ("linkat:error=EPERM",)

CHANGE_SETS = (
    ChangeSet("one file replaced", replace_one),
    ChangeSet("eight files replaced", replace_many, many),
    ChangeSet("additions in new directories", add_in_new_directories),
    ChangeSet("removals that leave directories empty", remove_all_of_directories, compiled()),
    ChangeSet("a module becomes a package", module_to_package, compiled()),
    ChangeSet("a package becomes a module", package_to_module, package_of_one),
    ChangeSet("the package goes back to a module", package_back_to_module, compiled(), (module_to_package,)),
    ChangeSet("data files", data),
    ChangeSet("empty files", empty, compiled()),
    ChangeSet("a large file", replace_large, large),
    ChangeSet("a module at the top", replace_top_level, top_level_module),
    ChangeSet("bytecode: timestamps, three levels", replace_two, three_levels),
    ChangeSet("bytecode: unchecked hashes", replace_two, compiled("--invalidation-mode", "unchecked-hash")),
    ChangeSet("bytecode: legacy places", overlay, compiled("-b")),
    ChangeSet("bytecode: of several interpreters", replace_one, several_tags),
    ChangeSet("bytecode: below a prefix", replace_two, below_a_prefix, prefixed=True),
    ChangeSet("a second push of the same file", replace_again, compiled(), (replace_one,)),
    ChangeSet("everything at once, on an overlay", everything_at_once, compiled(), (overlay,)),
    ChangeSet("revert of a replacement", revert, compiled(), (replace_one,)),
    ChangeSet("revert of additions", revert, compiled(), (add_in_new_directories,)),
    ChangeSet("revert of removals", revert, compiled(), (remove_all_of_directories,)),
    ChangeSet("revert of everything", revert, compiled("-b"), (overlay, everything_at_once)),
    ChangeSet("partly reverting", some_back, compiled(), (overlay,)),
    ChangeSet(
        "the same again, after a reinstallation", replace_and_add, compiled(), (replace_and_add,), reinstall
    ),
    ChangeSet("revert after a reinstallation", revert, compiled(), (replace_two,), reinstall),
    ChangeSet("hard links into a cache", replace_two, hard_linked),
    ChangeSet(
        "hard links, revert after a reinstallation", revert, hard_linked, (replace_two,), reinstall_from_cache
    ),
    ChangeSet("another user's files, odd modes", overlay, owned_and_odd_modes),
    ChangeSet("another user's files, revert", revert, owned_and_odd_modes, (overlay,)),
    ChangeSet("odd names", replace_odd, odd_names),
    ChangeSet("deep directories", replace_deep, deep),
    ChangeSet("no hard links allowed", overlay, compiled(), always=NO_LINKS),
    ChangeSet("no hard links allowed, revert", revert, compiled(), (overlay,), always=NO_LINKS),
)
