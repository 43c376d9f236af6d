"""Whether new files would ship: data, packages that come and go, and backends that ship all."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from overlaysync.core.backends import Whole, excluded, selected, ships_whole, unread_by_backend
from overlaysync.core.mapping import prove
from overlaysync.core.shipping import Shipping, ShippingRule, Ships
from overlaysync.model.target import FileKind, InstalledFile, InstalledPath
from overlaysync.model.worktree import MODE_FILE, ObjectId, RepoPath, TreeEntry

PACKAGE = ("src/pkg/__init__.py", "src/pkg/core.py", "setup.py", "docs/index.rst")


def rule(
    tracked: Iterable[str],
    added: Iterable[str] = (),
    *,
    removed: Iterable[str] = (),
    left_out: Iterable[str] = (),
    whole: Whole = Whole.NOTHING,
    build: str = "",
) -> ShippingRule:
    """The rule where all of ``src/`` ships except what a build leaves out; every file has its own content."""
    tree = {
        RepoPath(path): TreeEntry(mode=MODE_FILE, oid=ObjectId(f"{number:040x}"))
        for number, path in enumerate(tracked)
    }
    shipping = [path for path in tree if path.startswith("src/") and path not in set(left_out)]
    files = [
        InstalledFile(path=InstalledPath(path[4:]), kind=FileKind.FILE, blob=tree[path].oid, size=1)
        for path in shipping
    ]
    present = (tree.keys() | set(added)) - set(removed)
    build_files = {"pyproject.toml": build.encode()}
    return ShippingRule(
        tree,
        prove(tree, files),
        present,
        whole=whole,
        selection=selected(build_files),
        excluded=excluded(build_files),
    )


def of(shipping: Shipping) -> tuple[Ships, str | None]:
    return shipping.ships, shipping.destination


TRANSLATIONS = (*PACKAGE, "src/pkg/locale/de/pkg.po", "src/pkg/locale/fr/pkg.po")


def test_data_beside_data_of_its_kind() -> None:
    new = RepoPath("src/pkg/locale/de/more.po")
    assert of(rule(TRANSLATIONS).judge(new)) == (Ships.YES, "pkg/locale/de/more.po")


def test_data_in_a_new_directory_like_two_others() -> None:
    new = RepoPath("src/pkg/locale/eo/pkg.po")
    assert of(rule(TRANSLATIONS).judge(new)) == (Ships.YES, "pkg/locale/eo/pkg.po")


def test_one_other_directory_may_be_listed_by_its_name() -> None:
    new = RepoPath("src/pkg/locale/eo/pkg.po")
    assert rule(TRANSLATIONS[:-1]).judge(new).ships is Ships.UNPROVEN


def test_data_of_packages_says_nothing_of_other_directories() -> None:
    """As with ``package_data={"": ["*.json"]}``."""
    tracked = (*PACKAGE, "src/pkg/a.json", "src/pkg/sub/__init__.py", "src/pkg/sub/b.json")
    assert rule(tracked).judge(RepoPath("src/pkg/assets/c.json")).ships is Ships.UNPROVEN
    package = ("src/pkg/new/__init__.py",)
    assert rule(tracked, package).judge(RepoPath("src/pkg/new/c.json")).ships is Ships.YES


def test_data_of_a_kind_that_does_not_ship() -> None:
    tracked = (*PACKAGE, "src/pkg/notes.md")
    new = RepoPath("src/pkg/sub/notes.md")
    assert rule(tracked, left_out=["src/pkg/notes.md"]).judge(new).ships is Ships.NO


@pytest.mark.parametrize("new", ["LICENSE.txt", "docs/new.png", "docs/deep/new.png"])
def test_data_outside_of_packages(new: str) -> None:
    assert rule(PACKAGE).judge(RepoPath(new)).ships is Ships.NO


def test_data_of_an_unknown_kind() -> None:
    new = RepoPath("src/pkg/new.json")
    assert rule(PACKAGE).judge(new).ships is Ships.UNPROVEN
    assert of(rule(PACKAGE, whole=Whole.FILES).judge(new)) == (Ships.YES, "pkg/new.json")


def test_a_backend_that_ships_all_is_believed_only_where_head_agrees() -> None:
    tracked = (*PACKAGE, "src/pkg/notes.md")
    new = RepoPath("src/pkg/new.json")
    left_out = rule(tracked, left_out=["src/pkg/notes.md"], whole=Whole.FILES)
    assert left_out.judge(new).ships is Ships.UNPROVEN
    assert rule(tracked, whole=Whole.FILES).judge(new).ships is Ships.YES


def test_what_lies_beside_decides_before_the_backend_does() -> None:
    """As where a build installs headers and modules of one directory in two."""
    tracked = ("src/pkg/__init__.py", "src/pkg/a.h", "setup.py")
    tree = {RepoPath(path): TreeEntry(MODE_FILE, ObjectId(f"{n:040x}")) for n, path in enumerate(tracked)}
    places = {"src/pkg/__init__.py": "pkg/__init__.py", "src/pkg/a.h": "pkg/include/a.h"}
    files = [
        InstalledFile(path=InstalledPath(place), kind=FileKind.FILE, blob=tree[RepoPath(path)].oid, size=1)
        for path, place in places.items()
    ]
    both = ShippingRule(tree, prove(tree, files), tree.keys(), whole=Whole.FILES)
    assert of(both.judge(RepoPath("src/pkg/b.h"))) == (Ships.YES, "pkg/include/b.h")
    assert both.judge(RepoPath("src/pkg/b.json")).ships is Ships.UNPROVEN


def test_a_module_without_its_package() -> None:
    new = RepoPath("src/pkg/plain/new.py")
    assert rule(PACKAGE).judge(new).ships is Ships.UNPROVEN
    assert of(rule(PACKAGE, whole=Whole.FILES).judge(new)) == (Ships.YES, "pkg/plain/new.py")


def test_an_init_that_may_bring_what_did_not_ship() -> None:
    tracked = (*PACKAGE, "src/pkg/plain/old.py")
    new = RepoPath("src/pkg/plain/__init__.py")
    assert rule(tracked, left_out=["src/pkg/plain/old.py"]).judge(new).ships is Ships.UNPROVEN
    assert rule(tracked).judge(new).ships is Ships.YES


def test_a_package_that_a_build_file_does_not_list() -> None:
    new = RepoPath("src/pkg/new/__init__.py")
    listed = "[tool.setuptools]\npackages = ['pkg'{}]\n"
    assert rule(PACKAGE, [new], build=listed.format("")).judge(new).ships is Ships.NO
    assert rule(PACKAGE, [new], build=listed.format(", 'pkg.new'")).judge(new).ships is Ships.YES
    by_git = "[build-system]\nrequires = ['setuptools-scm']\n" + listed.format("")
    assert rule(PACKAGE, [new], build=by_git).judge(new).ships is Ships.UNPROVEN  # as data it may


def test_a_list_that_does_not_say_what_ships_at_head_is_not_the_whole_of_it() -> None:
    new = RepoPath("src/pkg/new.py")
    other = "[tool.setuptools]\npackages = ['other']\n"
    assert rule(PACKAGE, build=other).judge(new).ships is Ships.YES


def test_data_that_a_build_file_does_not_list() -> None:
    tracked, new = (*PACKAGE, "src/pkg/one.json"), RepoPath("src/pkg/two.json")
    listed = "[tool.setuptools]\npackages = ['pkg']\npackage-data = {pkg = ['NAME.json']}\n"
    assert rule(tracked, build=listed.replace("NAME", "one")).judge(new).ships is Ships.NO
    assert rule(tracked, build=listed.replace("NAME", "*")).judge(new).ships is Ships.YES


@pytest.mark.parametrize(
    ("backend", "table"),
    [
        ("hatchling.build", "[tool.hatch.build.targets.wheel]\nexclude = ['src/pkg/exp*']\n"),
        ("poetry.core.masonry.api", "[tool.poetry]\nexclude = ['src/pkg/exp*/**']\n"),
        ("maturin", "[tool.maturin]\nexclude = [{path = 'src/pkg/exp*/**', format = 'wheel'}]\n"),
        ("uv_build", "[tool.uv.build-backend]\nwheel-exclude = ['exp*']\n"),
    ],
)
def test_what_a_pattern_may_leave_out(backend: str, table: str) -> None:
    build = f"[build-system]\nbuild-backend = '{backend}'\n{table}"
    new = [RepoPath(f"src/pkg/{name}/__init__.py") for name in ("exploring", "new")]
    answers = [rule(PACKAGE, new, build=build).judge(path).ships for path in new]
    assert answers == [Ships.UNPROVEN, Ships.YES]


SUBPACKAGE = (*PACKAGE, "src/pkg/sub/__init__.py", "src/pkg/sub/part.py")
INIT = RepoPath("src/pkg/sub/__init__.py")


def test_a_removed_init_may_take_its_package_along() -> None:
    assert rule(SUBPACKAGE, removed=[INIT]).unmakes_package(INIT) is not None


def test_an_init_that_goes_with_its_package_or_is_not_needed() -> None:
    gone = rule(SUBPACKAGE, removed=[INIT, "src/pkg/sub/part.py"])
    assert gone.unmakes_package(INIT) is None
    assert rule(SUBPACKAGE, removed=[INIT], whole=Whole.FILES).unmakes_package(INIT) is None
    plain = (*SUBPACKAGE, "src/pkg/plain/old.py")
    assert rule(plain, removed=[INIT]).unmakes_package(INIT) is None
    assert rule(plain, removed=[INIT], left_out=["src/pkg/plain/old.py"]).unmakes_package(INIT) is not None


def backend(name: str, more: str = "") -> dict[str, bytes]:
    return {"pyproject.toml": f'[build-system]\nbuild-backend = "{name}"\n{more}'.encode()}


@pytest.mark.parametrize(
    "name",
    [
        "flit_core.buildapi",
        "hatchling.build",
        "maturin",
        "pdm.backend",
        "poetry.core.masonry.api",
        "scikit_build_core.build",
        "uv_build",
    ],
)
def test_backends_that_ship_whole_packages(name: str) -> None:
    assert ships_whole(backend(name)) is Whole.FILES
    assert ships_whole(backend(name, 'backend-path = ["."]\n')) is Whole.NOTHING


@pytest.mark.parametrize(
    "head",
    [
        {},
        {"pyproject.toml": b"not toml ["},
        {"pyproject.toml": b"\xff"},
        backend("setuptools.build_meta"),
        backend("mesonpy"),
        backend("hatchling.build", '[tool.hatch.build.targets.wheel]\nexclude = ["*.md"]\n'),
        backend("poetry.core.masonry.api", '[tool.poetry]\nexclude = ["pkg/x"]\n'),
    ],
)
def test_backends_that_select(head: dict[str, bytes]) -> None:
    assert ships_whole(head) is Whole.NOTHING


SCM = backend("setuptools.build_meta", 'requires = ["setuptools>=64", "setuptools_scm[toml]>=3.4"]\n')
INCLUDED = {"setup.cfg": b"[options]\ninclude_package_data = true\n"}


def test_setuptools_ships_the_data_that_git_tracks_where_it_is_told_so() -> None:
    project = {"pyproject.toml": SCM["pyproject.toml"] + b"[project]\nname = 'pkg'\n"}
    assert ships_whole(SCM | INCLUDED) is Whole.DATA
    assert ships_whole(project) is Whole.DATA
    for narrowed in (
        SCM,
        INCLUDED,
        SCM | INCLUDED | {"MANIFEST.in": b"prune pkg/data\n"},
        SCM | {"setup.cfg": b"[options]\ninclude_package_data = maybe\n"},
        {"pyproject.toml": project["pyproject.toml"] + b"[tool.setuptools]\ninclude-package-data = false\n"},
    ):
        assert ships_whole(narrowed) is Whole.NOTHING


def test_data_that_ships_says_nothing_of_modules() -> None:
    data = rule(PACKAGE, whole=Whole.DATA)
    assert data.judge(RepoPath("src/pkg/py.typed")).ships is Ships.YES
    assert data.judge(RepoPath("src/pkg/plain/new.py")).ships is Ships.UNPROVEN


def test_build_files_for_another_backend_are_not_read() -> None:
    assert unread_by_backend(backend("hatchling.build")) == ("/MANIFEST.in",)
    assert unread_by_backend(backend("mesonpy")) == ("/MANIFEST.in",)
    assert unread_by_backend(backend("setuptools.build_meta")) == ()
    assert unread_by_backend(backend("hatchling.build", 'backend-path = ["."]\n')) == ()
    assert unread_by_backend({}) == ()


FIND = "[tool.setuptools.packages.find]\nwhere = ['src']\n"


@pytest.mark.parametrize(
    ("build", "names", "ships"),
    [
        (FIND, ["__init__.py", "a.py"], Ships.UNPROVEN),
        (FIND, ["a.py"], Ships.UNPROVEN),  # found as a namespace, which this file's finder does by default
        (FIND + "namespaces = false\n", ["a.py"], Ships.NO),
        (FIND + "namespaces = false\n", ["__init__.py"], Ships.UNPROVEN),
        (FIND + "include = ['pk*']\n", ["__init__.py"], Ships.NO),
        (FIND + "include = ['ext*']\n", ["__init__.py"], Ships.UNPROVEN),
        (FIND + "exclude = ['extra*']\n", ["__init__.py"], Ships.NO),
        ("[tool.setuptools]\npackages = ['pkg']\n", ["__init__.py"], Ships.NO),
        ("[build-system]\nrequires = ['flit_core']\n", ["__init__.py"], Ships.NO),
    ],
)
def test_a_package_at_the_top_may_be_found(build: str, names: list[str], ships: Ships) -> None:
    """It is imported by what is pushed, and is not there: to call it not packaged would be a guess."""
    paths = [RepoPath(f"src/extra/{name}") for name in names]
    judged = [rule(PACKAGE, paths, build=build).judge(path).ships for path in paths]
    assert judged == [ships] * len(paths)


def test_where_others_that_fit_do_not_ship_it_is_not_guessed_at() -> None:
    tracked, new = (*PACKAGE, "src/other/__init__.py"), RepoPath("src/extra/__init__.py")
    assert rule(tracked, [new], left_out=["src/other/__init__.py"], build=FIND).judge(new).ships is Ships.NO
    assert rule(tracked, [new], build=FIND).judge(new).ships is Ships.UNPROVEN


def test_what_is_not_where_packages_are_looked_for_is_none() -> None:
    for path in map(RepoPath, ("tools/a.py", "src/single.py", "tools/__init__.py")):
        assert rule(PACKAGE, [path], build=FIND).judge(path).ships is Ships.NO
