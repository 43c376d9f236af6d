"""Which tracked file is installed where, judged by content."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlaysync.core.mapping import RootPair, Shipped, prove
from overlaysync.model.target import InstalledPath
from overlaysync.model.worktree import MODE_LINK
from tests.core.installation import Files, installed, placement, tree, wheel

PACKAGE = {"pkg/__init__.py": "", "pkg/engine.py": "engine", "pkg/layers/norm.py": "norm"}


def below(directory: str, files: Files) -> Files:
    return {f"{directory}/{path}": text for path, text in files.items()}


def places(shipped: Shipped) -> dict[str, str]:
    """Every tracked file that is installed, with its place (several joined by commas)."""
    return {path: ", ".join(found) for path, found in shipped.destinations.items()}


CASES: dict[str, tuple[Files, Files, Files]] = {
    # name: (HEAD's tree, what is installed, the mapping)
    "no source root": (
        PACKAGE | {"docs/engine.py": "example"},
        PACKAGE,
        {path: path for path in PACKAGE},
    ),
    "a source root": (
        below("src", PACKAGE) | {"tests/test_engine.py": "test"},
        PACKAGE,
        {f"src/{path}": path for path in PACKAGE},
    ),
    "a renamed package": (
        {"python/mypkg/__init__.py": "", "python/mypkg/engine.py": "engine"},
        {"renamed/__init__.py": "", "renamed/engine.py": "engine"},
        {
            "python/mypkg/__init__.py": "renamed/__init__.py",
            "python/mypkg/engine.py": "renamed/engine.py",
        },
    ),
    "a single module": (
        {"src/six.py": "six", "setup.py": "setup"},
        {"six.py": "six"},
        {"src/six.py": "six.py"},
    ),
    "two source roots": (
        below("src", PACKAGE) | {"plugin/lib/hook/__init__.py": "hook"},
        PACKAGE | {"hook/__init__.py": "hook"},
        {f"src/{path}": path for path in PACKAGE} | {"plugin/lib/hook/__init__.py": "hook/__init__.py"},
    ),
    "a vendored directory that the build copies into the package": (
        PACKAGE
        | {"third_party/fa/flash/a.py": "a", "third_party/fa/flash/b.py": "b", "third_party/fa/c.py": "c"},
        PACKAGE | {"pkg/_flash/a.py": "a", "pkg/_flash/b.py": "b"},
        {path: path for path in PACKAGE}
        | {"third_party/fa/flash/a.py": "pkg/_flash/a.py", "third_party/fa/flash/b.py": "pkg/_flash/b.py"},
    ),
    "a single file that the build copies into the package": (
        PACKAGE | {"etc/roots.pem": "roots"},
        PACKAGE | {"pkg/certificates/roots.pem": "roots"},
        {path: path for path in PACKAGE} | {"etc/roots.pem": "pkg/certificates/roots.pem"},
    ),
    "a subpackage that is not packaged": (
        PACKAGE | {"pkg/training/__init__.py": "", "pkg/training/loop.py": "loop"},
        PACKAGE,
        {path: path for path in PACKAGE},
    ),
    "generated files have no source": (
        PACKAGE | {"pkg/_version.py.in": "@version@"},
        PACKAGE | {"pkg/_version.py": "1.0", "pkg/_C.so": "machine code"},
        {path: path for path in PACKAGE},
    ),
    "a tracked file that the build overwrites keeps its source": (
        PACKAGE | {"pkg/_metadata.py": "0.0"},
        PACKAGE | {"pkg/_metadata.py": "1.0"},
        {path: path for path in PACKAGE} | {"pkg/_metadata.py": "pkg/_metadata.py"},
    ),
    "empty files that the build makes have no source": (
        below("src", PACKAGE) | {"tests/__init__.py": "", "src/pkg/include/__init__.py": ""},
        PACKAGE | {"pkg/include/__init__.py": "", "pkg/include/libxml/__init__.py": ""},
        {f"src/{path}": path for path in (*PACKAGE, "pkg/include/__init__.py")},
    ),
    "content that many files share maps by its directory": (
        {f"src/pkg/part{number}/__init__.py": "# licence" for number in range(12)} | below("src", PACKAGE),
        {f"pkg/part{number}/__init__.py": "# licence" for number in range(12)} | PACKAGE,
        {f"src/pkg/part{number}/__init__.py": f"pkg/part{number}/__init__.py" for number in range(12)}
        | {f"src/{path}": path for path in PACKAGE},
    ),
    "a file with a copy elsewhere in the package stays at its own place": (
        PACKAGE,
        PACKAGE | {"pkg/copies/engine.py": "engine"},
        {path: path for path in PACKAGE},
    ),
    "a lesser pair is not believed with other content": (
        PACKAGE | {"tests/layers/norm.py": "norm", "tests/layers/_build.py": "old"},
        PACKAGE | {"pkg/layers/_build.py": "generated"},
        {path: path for path in PACKAGE},
    ),
    "with no equal content at all paths say what to compare": (
        below("src", dict.fromkeys(PACKAGE, "HEAD's")),
        dict.fromkeys(PACKAGE, "another commit's"),
        {f"src/{path}": path for path in PACKAGE},
    ),
    "nothing in common": ({"lib/other.py": "other"}, PACKAGE, {}),
}


@pytest.mark.parametrize(("head", "target", "expected"), CASES.values(), ids=CASES)
def test_a_tracked_file_is_where_its_content_is(head: Files, target: Files, expected: Files) -> None:
    shipped = prove(tree(head), wheel(target))
    assert places(shipped) == expected
    assert not shipped.rivals


def test_the_proof_of_each_root_is_counted() -> None:
    shipped = prove(tree(below("src", PACKAGE)), wheel(PACKAGE))
    assert shipped.pairs == {RootPair("src", ""): 2}  # the empty file proves nothing


def test_links_of_the_repository_are_no_sources() -> None:
    head = tree(PACKAGE) | tree({"pkg/link.py": "engine"}, mode=MODE_LINK)
    assert places(prove(head, wheel(PACKAGE | {"pkg/link.py": "engine"}))) == {path: path for path in PACKAGE}


def test_one_directory_installed_twice_leaves_no_single_destination() -> None:
    twice = {"one/a.py": "a", "one/b.py": "b", "two/a.py": "a", "two/b.py": "b"}
    shipped = prove(tree({"lib/a.py": "a", "lib/b.py": "b"}), wheel(twice))
    (path, *_) = tree({"lib/a.py": "a"})
    assert shipped.ambiguous(path) == ("one/a.py", "two/a.py")
    assert shipped.destination(path) is None
    assert shipped.ships(path)


def test_two_equal_directories_are_rivals_for_one_place() -> None:
    head = tree(below("py_src", PACKAGE) | below("bindings/py_src", PACKAGE) | {"README": "read me"})
    shipped = prove(head, wheel(PACKAGE))
    one, other = (next(iter(tree({f"{root}/pkg/engine.py": ""}))) for root in ("py_src", "bindings/py_src"))
    assert shipped.rivals[one] == (other,)
    assert shipped.rivals[other] == (one,)
    assert shipped.destination(one) is shipped.destination(other) is None
    settled = prove(head, wheel(PACKAGE), not_shipped=["/bindings/"])
    assert places(settled) == {f"py_src/{path}": path for path in PACKAGE}
    assert not settled.rivals


def test_the_configuration_takes_no_source_away_that_has_no_rival() -> None:
    shipped = prove(tree(PACKAGE), wheel(PACKAGE), not_shipped=["/pkg/"])
    assert places(shipped) == {path: path for path in PACKAGE}


def test_the_directory_with_more_proof_has_no_rival() -> None:
    head = tree(below("src", PACKAGE) | below("examples/old", PACKAGE | {"pkg/engine.py": "old engine"}))
    shipped = prove(head, wheel(PACKAGE))
    assert places(shipped) == {f"src/{path}": path for path in PACKAGE}


def test_what_an_overlay_replaced_stays_proven() -> None:
    head = tree({"python/mypkg/engine.py": "engine", "python/mypkg/ops.py": "ops"})
    target = [
        installed("renamed/engine.py", "edited", recorded="engine"),
        installed("renamed/ops.py", None, recorded="ops"),
    ]
    overlay = {
        item.destination: item
        for item in (
            placement("python/mypkg/engine.py", "renamed/engine.py", "engine", "edited"),
            placement("python/mypkg/ops.py", "renamed/ops.py", "ops", None),
        )
    }
    assert places(prove(head, target)) == {}
    assert places(prove(head, target, overlay)) == {
        "python/mypkg/engine.py": "renamed/engine.py",
        "python/mypkg/ops.py": "renamed/ops.py",
    }


def test_what_was_changed_over_an_overlay_proves_nothing() -> None:
    overlay = {
        InstalledPath("renamed/engine.py"): placement("mypkg/engine.py", "renamed/engine.py", "x", "y")
    }
    target = [installed("renamed/engine.py", "somebody's", recorded="x")]
    assert places(prove(tree({"mypkg/engine.py": "x"}), target, overlay)) == {}


NAMES = st.sampled_from(["__init__.py", "a.py", "b.py", "data.json"])
DIRECTORIES = st.sampled_from(["pkg", "pkg/sub", "pkg/sub/deep", "other"])
PATHS = st.builds("{}/{}".format, DIRECTORIES, NAMES)
CONTENTS = st.sampled_from(["", "# licence", "one", "two", "three", "four", "five"])


@given(
    root=st.sampled_from(["", "src/", "python/lib/"]),
    package=st.dictionaries(PATHS, CONTENTS, min_size=1),
    beside=st.dictionaries(
        st.builds("{}/{}".format, st.sampled_from(["tests", "docs", "x/pkg"]), PATHS), CONTENTS
    ),
    changed=st.sets(PATHS),
    made=st.integers(0, 3),
)
def test_a_package_below_one_root_never_maps_to_anything_but_itself(
    root: str, package: dict[str, str], beside: dict[str, str], changed: set[str], made: int
) -> None:
    """Copies of its files beside it, changes in the target and generated files notwithstanding."""
    head = beside | {f"{root}{path}": text for path, text in package.items()}
    target = package | {path: f"changed {path}" for path in changed & package.keys()}
    target |= {f"pkg/_made{number}.py": f"made {number}" for number in range(made)}
    shipped = prove(tree(head), wheel(target))
    for path in tree(head):
        own = path.removeprefix(root) if path not in beside else None
        assert shipped.destination(path) in (own, None)
        if own in package and own not in changed:
            assert shipped.ships(path) or not any(package.values())
