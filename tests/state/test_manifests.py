"""The manifests on the host."""

from __future__ import annotations

import json
import resource
import stat
from pathlib import Path

import pytest
from msgspec import structs

from overlaysync.errors import UsageError
from overlaysync.state.manifest_text import encode
from overlaysync.state.manifests import DamagedFile, ManifestStore, Roots, repository_key
from tests.state.samples import manifest

FIRST = manifest("20261129T161500.250Z-3f9c2a")
SECOND = manifest("20261129T161500.251Z-00aa11")
OTHER = manifest("20261201T000000.000Z-77bb66", root="/work/other", target="pod")

HOW_TO_GET_ONE = "run overlaysync push first, or look at every repository's: overlaysync manifest list --all"


@pytest.fixture
def store(tmp_path: Path) -> ManifestStore:
    store = ManifestStore(tmp_path / "manifests")
    for each in (SECOND, OTHER, FIRST):
        store.save(each)
    return store


def refusal(store: ManifestStore, reference: str, roots: Roots = None) -> UsageError:
    with pytest.raises(UsageError) as caught:
        store.load(reference, roots)
    assert caught.value.next_step
    return caught.value


def test_a_file_of_its_own_for_its_owner_alone(store: ManifestStore) -> None:
    file = store.save(FIRST)
    assert file == store.directory / repository_key("/home/dev/sample") / f"{FIRST.id}.json"
    assert file.read_text(encoding="ascii") == encode(FIRST)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert {each.suffix for each in file.parent.iterdir()} == {".json"}


def test_whether_one_is_held(store: ManifestStore) -> None:
    file = store.save(FIRST)
    assert store.holds(FIRST)
    file.write_text(json.dumps(json.loads(file.read_text()), indent=4))
    assert store.holds(FIRST)  # as an older version may have written it
    for text in (file.read_text()[:-2], encode(SECOND), ""):
        file.write_text(text)
        assert not store.holds(FIRST)
    file.unlink()
    assert not store.holds(FIRST)


def test_listed_newest_first(store: ManifestStore) -> None:
    assert store.list(("/home/dev/sample",)).manifests == (SECOND, FIRST)
    assert store.list().manifests == (OTHER, SECOND, FIRST)
    assert store.list("/nowhere").manifests == ()


@pytest.mark.parametrize(
    ("reference", "meant"),
    [
        (FIRST.id, FIRST),
        ("20261129T161500.250", FIRST),
        ("20261201", OTHER),
        ("3f9c", FIRST),
        ("00aa11", SECOND),
        ("latest", OTHER),
    ],
)
def test_references(store: ManifestStore, reference: str, meant: object) -> None:
    assert store.load(reference) == meant


def test_references_within_one_repository(store: ManifestStore) -> None:
    assert store.load("latest", ("/home/dev/sample",)) == SECOND
    assert store.load("77bb") == OTHER
    error = refusal(store, "77bb", ("/home/dev/sample",))
    assert "names no manifest" in str(error)
    assert error.next_step == f"name one of these: {SECOND.id}, {FIRST.id}"
    assert refusal(store, "latest", ("/nowhere",)).next_step == HOW_TO_GET_ONE


def test_a_name_is_one_that_a_record_is_found_by(store: ManifestStore) -> None:
    """The random part, where that is long enough and means no other record."""
    here = ("/home/dev/sample",)
    assert store.names(here) == {FIRST.id: "3f9c2a", SECOND.id: "00aa11"}
    assert store.names(None)[OTHER.id] == "77bb66"
    others = [
        "20261130T000000.000Z-00aa11",
        "2026-abc",
        "2026",
        "2026-3f9c2a0",
        "20261130T000000.001Z-202611",
    ]
    for identity in others:
        store.save(manifest(identity))
    whole = {identity: identity for identity in (*others, FIRST.id, SECOND.id)}
    assert store.names(here) == {**whole, "2026-3f9c2a0": "3f9c2a0"}
    for identity, name in store.names(here).items():
        assert store.load(name, here).id == identity


def test_a_whole_id_is_found_wherever_it_belongs_to(store: ManifestStore) -> None:
    assert store.load(OTHER.id, ("/home/dev/sample",)) == OTHER


def test_a_manifest_from_somewhere_else_by_its_path(store: ManifestStore, tmp_path: Path) -> None:
    file = tmp_path / "sent by mail.json"
    file.write_text(encode(FIRST))
    assert store.load(str(file)) == FIRST
    assert "No such file" in str(refusal(store, str(tmp_path / "absent.json")))


def test_ambiguous_and_unknown_references_list_candidates(store: ManifestStore) -> None:
    error = refusal(store, "20261129")
    assert "more than one" in str(error)
    assert error.next_step == f"name one of these: {SECOND.id}, {FIRST.id}"
    assert OTHER.id in str(refusal(store, "ffff").next_step)
    assert "four characters" in str(refusal(store, "3f9"))
    assert "four characters" in str(refusal(store, ""))


def test_an_empty_store(tmp_path: Path) -> None:
    store = ManifestStore(tmp_path / "absent")
    assert store.list().manifests == ()
    assert store.latest(("/home/dev/sample",), "my-dev") is None
    assert refusal(store, "latest").next_step == HOW_TO_GET_ONE
    assert refusal(store, "abcd").next_step == HOW_TO_GET_ONE
    assert not (tmp_path / "absent").exists()


def test_the_latest_of_a_repository_in_a_target(store: ManifestStore) -> None:
    assert store.latest(("/home/dev/sample",), "my-dev") == SECOND
    assert store.latest(("/work/other",), "pod") == OTHER
    assert store.latest(("/work/other",), "my-dev") is None
    assert store.latest(("/home/dev/sample",), "pod") is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no JSON"),
        (b"\xff", "not ASCII"),
        (encode(FIRST).replace("manifest/1", "manifest/2").encode(), "newer version"),
    ],
)
def test_a_damaged_file_hides_no_other(store: ManifestStore, content: bytes, reason: str) -> None:
    file = store.save(SECOND)
    file.write_bytes(content)
    records = store.list(("/home/dev/sample",))
    assert records.manifests == (FIRST,)
    [damaged] = records.damaged
    assert isinstance(damaged, DamagedFile)
    assert damaged.file == file and reason in damaged.reason
    assert store.latest(("/home/dev/sample",), "my-dev") == FIRST
    assert reason in str(refusal(store, SECOND.id))


def test_what_is_no_file_is_damaged_and_what_is_no_record_is_passed_over(store: ManifestStore) -> None:
    folder = store.save(FIRST).parent
    (folder / "20270101T000000.000Z-000000.json").mkdir()
    (folder / "notes.json").write_text("{}")
    (folder / ".x.new").write_text("half")
    records = store.list(("/home/dev/sample",))
    assert records.manifests == (SECOND, FIRST)
    assert [damaged.reason for damaged in records.damaged] == ["it is no regular file"]


@pytest.mark.parametrize("name", ["../outside", "latest", "", "a/b", "1"])
def test_an_id_that_is_no_file_name(store: ManifestStore, tmp_path: Path, name: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match="no id"):
        store.save(manifest(name))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_store_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "manifests").write_text("in the way")
    with pytest.raises(UsageError, match="cannot be written") as caught:
        ManifestStore(tmp_path / "manifests").save(FIRST)
    assert "XDG_STATE_HOME" in str(caught.value.next_step)


def test_a_disk_that_is_full_leaves_the_old_record_and_nothing_else(store: ManifestStore) -> None:
    file = store.save(FIRST)
    before = {each: each.read_bytes() for each in file.parent.iterdir()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(UsageError, match="cannot be written"):
            store.save(manifest(FIRST.id, target="another"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {each: each.read_bytes() for each in file.parent.iterdir()} == before


def test_repositories_of_one_name_are_kept_apart() -> None:
    keys = {
        repository_key(root)
        for root in ("/a/vllm", "/b/vllm", "/", "/a/..", "/a/\udce9 ü", "/a/" + "x" * 300)
    }
    assert len(keys) == 6
    assert all(key.isascii() and "/" not in key and not key.startswith((".", "-")) for key in keys)
    assert repository_key("/a/vllm").startswith("vllm-")
    assert max(map(len, keys)) <= 60


def test_the_one_before_is_what_a_manifest_names(store: ManifestStore) -> None:
    """Whichever worktree of this host it is of; else the next older one of the same target."""
    ids = [f"20261129T16150{number}.000Z-00000{number}" for number in range(6)]
    first, other_target, elsewhere, second, third, fourth = ids
    for name, root, target, previous in (
        (first, "/home/dev/sample", "box", None),
        (other_target, "/home/dev/sample", "another", None),
        (elsewhere, "/home/dev/other", "box", None),
        (second, "/home/dev/sample", "box", None),
        (third, "/home/dev/sample", "box", elsewhere),
        (fourth, "/home/dev/sample", "box", "20261129T150000.000Z-999999"),
    ):
        store.save(structs.replace(manifest(name, root=root, target=target), previous=previous))
    roots = ("/home/dev/sample",)

    def before(name: str) -> str:
        return store.before(store.load(name), roots).id

    assert (before(second), before(third)) == (first, elsewhere)
    for name, said in (
        (first, "no manifest before"),
        (other_target, "no manifest before"),
        (fourth, "999999, is not"),
    ):
        with pytest.raises(UsageError, match=said) as refused:
            before(name)
        assert refused.value.next_step == f"look at it alone: overlaysync manifest show {name}"
