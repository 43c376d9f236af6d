"""What an interpreter of the target would import, asked in a fresh process and without importing anything."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from overlaysync.agent.inspector import WORTH_A_CORE
from overlaysync.model.target import Interpreter, Resolution, Setting
from overlaysync.remote.session import AgentSession
from tests.agent.conftest import Start
from tests.agent.vocabulary import FILES, METADATA, Site, is_running
from tests.parts.hooks import install_hook


@dataclass
class Place:
    """A virtual environment that holds the distribution, and how a workload of it is started."""

    prefix: Path
    site: Site
    work: Path
    session: AgentSession

    @property
    def python(self) -> Path:
        return self.prefix / "bin" / "python"

    def setting(self, **variables: str) -> Setting:
        return Setting(environment={"PATH": "/usr/bin:/bin", **variables}, working_directory=str(self.work))

    def survey(self, **variables: str) -> Interpreter:
        (found,) = self.session.interpreters(
            "sample", self.setting(**variables), interpreter=str(self.python), hints=[], patience=20.0
        )
        return found

    def resolve(self, *modules: str, **variables: str) -> list[Resolution]:
        answers, unreadable = self.session.read_back(
            str(self.python), self.setting(**variables), modules, [], patience=20.0
        )
        assert unreadable == []
        return answers


def make_place(python: Path, directory: Path, session: AgentSession) -> Place:
    prefix, work = directory / "venv", directory / "work"
    work.mkdir()
    subprocess.run([str(python), "-m", "venv", "--without-pip", str(prefix)], check=True, timeout=60)
    (site_packages,) = prefix.glob("lib/python3*/site-packages")
    return Place(prefix, Site(site_packages.resolve()).install(), work, session)


@pytest.fixture
def place(python: Path, tmp_path: Path, session: AgentSession) -> Place:
    return make_place(python, tmp_path, session)


def test_an_interpreter_tells_of_itself(every_python: Path, tmp_path: Path, start: Start) -> None:
    place = make_place(every_python, tmp_path, start(every_python))
    before = place.site.snapshot(times=True)
    found = place.survey()
    assert found.error is None
    assert (found.path, found.prefix) == (str(place.python), str(place.prefix))
    assert found.version.startswith(every_python.name.removeprefix("python"))
    assert found.cache_tag == "cpython-" + every_python.name.removeprefix("python").replace(".", "")
    assert ".so" in found.extension_suffixes
    assert str(place.site.root) in found.search_path
    assert found.uid == os.geteuid()
    assert [(copy.root, copy.metadata, copy.version, copy.form) for copy in found.distributions] == [
        (str(place.site.root), METADATA, "1.0", "dist-info")
    ]
    assert [(package.module, package.origin) for package in found.packages] == [
        ("sample", f"{place.site.root}/sample/__init__.py")
    ]
    (engine,) = place.resolve("sample.engine")
    assert (engine.origin, engine.runs_source) == (f"{place.site.root}/sample/engine.py", True)
    assert place.site.snapshot(times=True) == before


def test_nothing_is_executed(place: Place) -> None:
    place.site.write("sample/__init__.py", "raise RuntimeError('executed')\n")
    place.site.write("sample/engine.py", f"open({str(place.work / 'executed')!r}, 'w')\n")
    (engine,) = place.resolve("sample.engine")
    assert (engine.error, engine.runs_source) == (None, True)
    assert list(place.work.iterdir()) == []


@pytest.mark.parametrize(
    "hook",
    [None, "import threading, time; threading.Thread(target=time.sleep, args=(600,), daemon=True).start()"],
    ids=["on all cores", "beside a thread"],
)
def test_many_modules_are_answered_as_one_is(place: Place, hook: str | None) -> None:
    if hook is not None:
        install_hook(place.site.root, hook)
    names = [f"sample.part_{number}" for number in range(4 * WORTH_A_CORE)]
    for name in names:
        place.site.write(f"{name.replace('.', '/')}.py", "GENERATION = 1\n")
    assert place.site.compile(place.python)
    stale, absent = names[WORTH_A_CORE], names[-2]
    place.site.write(f"{stale.replace('.', '/')}.py", "GENERATION = 2\n")
    (place.site.root / f"{absent.replace('.', '/')}.py").unlink()
    answers = place.resolve(*names)
    assert [answer.module for answer in answers] == names
    assert [answer.module for answer in answers if answer.runs_source is not True] == [stale, absent]
    assert {answer.module: answer.runs_source for answer in answers}[stale] is False
    assert [answer.module for answer in answers if answer.origin is None] == [absent]


def test_stale_bytecode_is_told(place: Place) -> None:
    """E01 and E03: the same size and second; or trusted for ever."""
    for options in ([], ["--invalidation-mode", "unchecked-hash", "-f"]):
        place.site.write("sample/engine.py", "GENERATION = 1\n")
        assert place.site.compile(place.python, *options)
        assert place.resolve("sample.engine")[0].runs_source is True
        place.site.write("sample/engine.py", "GENERATION = 2\n")
        assert place.resolve("sample.engine")[0].runs_source is False


def test_the_bytecode_prefix_is_the_workloads(place: Place, tmp_path: Path) -> None:
    """E04; a relative one is below the working directory."""
    assert place.survey().pycache_prefix is None
    cache = tmp_path / "cache"
    assert place.survey(PYTHONPYCACHEPREFIX=str(cache)).pycache_prefix == str(cache)
    assert place.survey(PYTHONPYCACHEPREFIX="cache").pycache_prefix == f"{place.work}/cache"
    subprocess.run(
        [str(place.python), "-m", "compileall", "-q", str(place.site.root)],
        check=True,
        env={**os.environ, "PYTHONPYCACHEPREFIX": str(cache)},
    )
    place.site.write("sample/engine.py", "GENERATION = 2\n")
    assert place.resolve("sample.engine")[0].runs_source is True
    (stale,) = place.resolve("sample.engine", PYTHONPYCACHEPREFIX=str(cache))
    assert stale.runs_source is False
    assert not cache.joinpath("work").exists()


def test_a_removed_module_with_legacy_bytecode_is_still_found(place: Place) -> None:
    """E06."""
    place.site.compile(place.python)
    (place.site.root / "sample/engine.py").unlink()
    assert place.resolve("sample.engine")[0].origin is None
    place.site.write("sample/engine.py", "GENERATION = 1\n")
    assert "sample/engine.pyc" in place.site.compile(place.python, "-b")
    (place.site.root / "sample/engine.py").unlink()
    (engine,) = place.resolve("sample.engine")
    assert (engine.origin, engine.loader) == (
        f"{place.site.root}/sample/engine.pyc",
        "SourcelessFileLoader",
    )


@pytest.mark.parametrize("form", ["abi3.so", "so", "tagged"])
def test_a_compiled_twin_is_tried_first(place: Place, form: str) -> None:
    """E07."""
    suffixes = place.survey().extension_suffixes
    suffix = next(item for item in suffixes if "cpython" in item) if form == "tagged" else f".{form}"
    place.site.write(f"sample/engine{suffix}", b"")
    (engine,) = place.resolve("sample.engine")
    assert (engine.origin, engine.loader) == (
        f"{place.site.root}/sample/engine{suffix}",
        "ExtensionFileLoader",
    )
    place.site.open(place.session)
    (file,) = place.session.look(
        ["sample/engine.py"],  # type: ignore[list-item]
        object_format="sha1",
        suffixes=suffixes,
    ).values()
    assert file.twins == (f"sample/engine{suffix}",)


def test_a_directory_of_the_name_hides_an_editable_install(place: Place) -> None:
    """E12: only the finder at the end of the list knows the package, and an empty directory comes first."""
    sources = place.work.parent / "sources"
    Site(sources / "elsewhere").install({"sample/__init__.py": ""})
    (place.site.root / "sample").rename(place.work.parent / "away")
    finder = f"""
import importlib.util, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "sample":
            return importlib.util.spec_from_file_location(
                name, {str(sources / "elsewhere/sample/__init__.py")!r}, submodule_search_locations=[])
sys.meta_path.append(Finder)
"""
    place.site.write("finder.py", finder)
    place.site.write("finder.pth", "import finder\n")
    (found,) = place.resolve("sample")
    assert found.origin == f"{sources}/elsewhere/sample/__init__.py"
    (place.work / "sample").mkdir()
    (found,) = place.resolve("sample")
    assert (found.origin, found.locations) == (None, (f"{place.work}/sample",))
    assert "Finder" in place.survey().finders


def test_the_working_directory_comes_first(place: Place) -> None:
    (place.work / "sample").mkdir()
    (place.work / "sample/__init__.py").write_text("")
    assert place.survey().packages[0].origin == f"{place.work}/sample/__init__.py"


def test_modules_of_the_working_directory_are_not_ours(place: Place) -> None:
    """A json.py there is what the workload imports, and not what the inspector does."""
    for name in ("json", "os", "re", "site", "sys", "importlib"):
        (place.work / f"{name}.py").write_text("raise RuntimeError('executed')\n")
    assert place.survey().error is None
    (found,) = place.resolve("json.decoder")
    assert found.error is None


def test_packages_found_through_a_path_file(place: Place) -> None:
    sources = place.work.parent / "sources"
    Site(sources).install()
    for name in ("sample", METADATA):
        (place.site.root / name).rename(place.work.parent / f"away-{name}")
    assert place.survey().distributions == ()
    place.site.write("sources.pth", f"{sources}\n")
    found = place.survey()
    assert [copy.root for copy in found.distributions] == [str(sources)]
    assert found.packages[0].origin == f"{sources}/sample/__init__.py"


def test_every_copy_is_listed_in_the_order_of_import(place: Place) -> None:
    """E10, E15."""
    second = Site(place.work.parent / "second").install()
    place.site.write("sample-2.0.dist-info/METADATA", "")
    found = place.survey(PYTHONPATH=str(second.root))
    assert [(copy.root, copy.version) for copy in found.distributions] == [
        (str(second.root), "1.0"),
        (str(place.site.root), "1.0"),
        (str(place.site.root), "2.0"),
    ]
    assert found.packages[0].origin == f"{second.root}/sample/__init__.py"


def test_the_user_site(python: Path, session: AgentSession, tmp_path: Path) -> None:
    """E09."""
    home, version = tmp_path / "home", python.name
    site = Site(home / f".local/lib/{version}/site-packages").install()
    variables = {"PATH": "/usr/bin", "HOME": str(home)}

    def ask(**more: str) -> Interpreter:
        setting = Setting(environment={**variables, **more}, working_directory="/")
        return session.interpreters("sample", setting, interpreter=str(python), hints=[])[0]

    found = ask()
    assert (found.user_site, found.user_site_enabled) == (str(site.root), True)
    assert [copy.root for copy in found.distributions] == [str(site.root)]
    found = ask(PYTHONNOUSERSITE="1")
    assert (found.user_site_enabled, found.distributions) == (False, ())


def test_directories_without_init_in_a_package(place: Place) -> None:
    """The import system looks for their parents among what is imported; here nothing is."""
    place.site.write("sample/bare/deeper/module.py", "BARE = 1\n")
    names = ("sample.bare", "sample.bare.deeper", "sample.bare.deeper.module", "sample.bare.absent")
    bare, deeper, module, absent = place.resolve(*names)
    assert (bare.error, bare.origin, bare.locations) == (None, None, (f"{place.site.root}/sample/bare",))
    assert deeper.locations == (f"{place.site.root}/sample/bare/deeper",)
    assert (module.origin, module.runs_source) == (
        f"{place.site.root}/sample/bare/deeper/module.py",
        True,
    )
    assert (absent.error, absent.origin) == (None, None)


def test_what_cannot_be_compiled_or_read(place: Place) -> None:
    place.site.write("sample/broken.py", "def :\n")
    place.site.write("sample/coded.py", b"# coding: no-such\n")
    place.site.write("sample/nul.py", b"A = 1\0\n")
    os.mkfifo(place.site.root / "sample/fifo.py")
    broken, coded, nul, _ = place.resolve("sample.broken", "sample.coded", "sample.nul", "sample.fifo")
    assert broken.error is not None
    assert broken.error.startswith("SyntaxError: ")
    assert coded.error is not None
    assert nul.error is not None


def test_names_that_are_no_modules(place: Place) -> None:
    found = place.resolve("absent", "sample.absent", "sample.engine.below", "sys", "", "sample..engine")
    assert [row.origin for row in found] == [None] * 6


def test_another_locale(place: Place) -> None:
    """D14: paths are bytes, whatever the locale."""
    place.site.write("sample/café.py", "CAFE = 1\n")
    for variables in ({}, {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}):
        (found,) = place.resolve("sample.café", **variables)
        assert (found.error, found.origin) == (None, f"{place.site.root}/sample/café.py")


# -- start-up hooks ----------------------------------------------------------------------------------

HOOKS = {
    "prints": "print('hello'); print('{}', flush=True)",
    "reads": "import sys; sys.stdin.read()",
    "closes": "import os, sys; os.close(1); os.close(0)",
    "raises": "raise RuntimeError('a broken hook')",
    "warns": "import sys; sys.stderr.write('x' * 1_000_000 + '\\n')",
    "odd path": "import sys; sys.path.extend([None, 3, b'/bytes'])",
    "odd finder": "import sys; sys.meta_path.append(object())",
    "changes directory": "import os; os.chdir('/')",
}


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS.keys())
def test_start_up_hooks_do_no_harm(place: Place, hook: str) -> None:
    install_hook(place.site.root, hook)
    found = place.survey()
    assert (found.error, len(found.distributions)) == (None, 1)
    assert place.resolve("sample.engine")[0].runs_source is True


@pytest.mark.parametrize(
    ("hook", "told"),
    [
        ("raise SystemExit(7)", "exit code "),
        ("import os; os._exit(3)", "exit code 3: no answer"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "exit code -11: "),
        ("import os; os.closerange(3, 100)", "exit code 1: "),
    ],
)
def test_a_hook_that_ends_the_interpreter_is_told(place: Place, hook: str, told: str) -> None:
    install_hook(place.site.root, hook)
    found = place.survey()
    assert found.error is not None
    assert found.error.startswith(told)


def test_what_a_hook_left_running_is_not_waited_for(place: Place) -> None:
    """It holds the inherited pipes, as a daemon does that was started without closing them."""
    hook = f"""
import os, time
child = os.fork()
if child == 0:
    time.sleep(600)
    os._exit(0)
open({str(place.work / "pid")!r}, "w").write(str(child))
"""
    install_hook(place.site.root, hook)
    assert place.survey().error is None
    child, deadline = int((place.work / "pid").read_text()), time.monotonic() + 10
    while is_running(child):  # killed, it needs a moment to end
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_files_that_are_not_modules(place: Place) -> None:
    files = [str(place.site.root / name) for name in (*FILES, "absent.json")]
    _, unreadable = place.session.read_back(str(place.python), place.setting(), [], files)
    assert unreadable == [(files[-1], "No such file or directory")]


FINDER = """
import sys
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
class Finder:
    @staticmethod
    def find_spec(name, path, target=None):
        found = PathFinder.find_spec(name, path)
        if name == "sample.engine":
            {change}
        return found
sys.meta_path.insert(0, Finder)
"""
LOADERS = {
    "other bytes": """
from importlib.machinery import SourceFileLoader
read = SourceFileLoader.get_data
SourceFileLoader.get_data = lambda self, path: read(self, path) + b"\\nother = 1\\n"
""",
    "other code": """
from importlib.machinery import SourceFileLoader
SourceFileLoader.source_to_code = lambda self, data, path, **_: compile("other = 1", path, "exec")
""",
    "another file": FINDER.format(
        change="return spec_from_file_location(name, found.origin, loader=SourceFileLoader(name, __file__))"
    ),
    "one of its own": FINDER.format(
        change='found.loader.get_code = lambda name: compile("other = 1", "x", "exec")'
    ),
}


@pytest.mark.parametrize("code", LOADERS.values(), ids=LOADERS)
def test_a_loader_that_runs_something_else(place: Place, code: str) -> None:
    """There is no bytecode, and it is Python's own loader: by its type."""
    engine = f"{place.site.root}/sample/engine.py"
    [before] = place.resolve("sample.engine")
    install_hook(place.site.root, code)
    [after] = place.resolve("sample.engine")
    assert [(item.origin, item.runs_source) for item in (before, after)] == [(engine, True), (engine, False)]
