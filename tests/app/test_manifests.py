"""What a reference to a manifest means, from inside one repository of several."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from overlaysync.app.manifests import compare_manifests, list_manifests, show_manifest
from overlaysync.app.options import Options
from overlaysync.errors import UsageError
from overlaysync.model.worktree import Ported
from overlaysync.state.manifests import ManifestStore
from tests.parts.repositories import Repository
from tests.state.samples import COMMIT, DESTINATION, manifest

OLD, NEW = "20261129T161500.250Z-3f9c2a", "20261129T161500.251Z-00aa11"
ELSEWHERE = "20261201T000000.000Z-77bb66"


@pytest.fixture
def options(tmp_path: Path) -> Options:
    """Inside a repository of two manifests, while another one has a newer one."""
    repository = Repository(tmp_path / "mine")
    folder = repository.path / "below"
    folder.mkdir()
    store = ManifestStore(tmp_path / "records")
    for identity, root in ((OLD, repository.path), (NEW, repository.path), (ELSEWHERE, tmp_path / "other")):
        store.save(manifest(identity, root=str(root)))
    return Options(worktree=folder, records=tmp_path / "records")


def shown(options: Options, reference: str) -> str:
    identity = show_manifest(options, reference).details["manifest"]["id"]
    assert isinstance(identity, str)
    return identity


def test_latest_is_the_first_of_the_list(options: Options) -> None:
    listed = [item["id"] for item in list_manifests(options).details["manifests"]]
    assert listed == [NEW, OLD]
    assert shown(options, "latest") == NEW


def test_the_beginning_of_an_id_means_this_repository(options: Options) -> None:
    assert shown(options, "3f9c") == OLD
    for reference in ("20261201", "77bb66"):
        with pytest.raises(UsageError, match="names no manifest"):
            shown(options, reference)


def test_a_whole_id_or_a_path_means_any(options: Options, tmp_path: Path) -> None:
    assert shown(options, ELSEWHERE) == ELSEWHERE
    [file] = (tmp_path / "records").glob(f"*/{ELSEWHERE}.json")
    assert shown(options, str(file)) == ELSEWHERE


@pytest.mark.parametrize(
    ("everywhere", "names"), [(False, ["00aa11", "3f9c2a"]), (True, [ELSEWHERE, "00aa11", "3f9c2a"])]
)
def test_what_a_list_names_is_shown(options: Options, everywhere: bool, names: list[str]) -> None:
    """A part of an id means this repository, so that of another one's record would mean none."""
    listed = list_manifests(options, everywhere=everywhere).details["manifests"]
    assert [item["name"] for item in listed] == names
    assert [shown(options, item["name"]) for item in listed] == [item["id"] for item in listed]
    compared = compare_manifests(options, ELSEWHERE, "latest").details
    assert [compared[side]["name"] for side in ("before", "after")] == [ELSEWHERE, "00aa11"]


def test_both_sides_of_a_comparison(options: Options) -> None:
    assert compare_manifests(options, NEW, "latest").details["same"]
    roots = [
        fact
        for fact in compare_manifests(options, ELSEWHERE, "latest").details["difference"]["facts"]
        if "other" in fact["before"]
    ]
    assert roots
    with pytest.raises(UsageError, match="names no manifest"):
        compare_manifests(options, "77bb66", "latest")


def test_a_carried_state_is_the_developments(options: Options, tmp_path: Path) -> None:
    ported = Ported(str(tmp_path / "dev"), "faster", COMMIT, COMMIT, COMMIT, COMMIT)
    record = manifest(OLD, root=str(tmp_path / "mine"))
    repository = structs.replace(record.repository, ported=ported)
    ManifestStore(tmp_path / "records").save(structs.replace(record, repository=repository))
    listed = {item["id"]: item for item in list_manifests(options).details["manifests"]}
    told = [[listed[name][key] for key in ("root", "branch", "ported")] for name in (OLD, NEW)]
    assert told == [[str(tmp_path / "dev"), "faster", True], [str(tmp_path / "mine"), "main", False]]


def test_one_reference_means_the_record_and_the_one_before_it(options: Options, tmp_path: Path) -> None:
    store = ManifestStore(tmp_path / "records")
    old, new = (
        structs.replace(store.load(name), previous=before) for name, before in ((OLD, None), (NEW, OLD))
    )
    store.save(structs.replace(old, overlay=()))
    store.save(new)
    details = compare_manifests(options, "latest").details
    assert (details["before"]["id"], details["after"]["id"]) == (OLD, NEW)
    assert [item["destination"] for item in details["difference"]["added"]] == [DESTINATION]
    assert not details["same"]
    with pytest.raises(UsageError, match="no manifest before"):
        compare_manifests(options, OLD)
