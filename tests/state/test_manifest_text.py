"""The manifest as text: what is written is read back, and nothing else is believed."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import typing
from datetime import datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlaysync.model.manifest import Manifest
from overlaysync.model.target import InstalledPath
from overlaysync.model.worktree import ObjectId, RepoPath, Sha256
from overlaysync.state.manifest_text import (
    FORMS,
    MANIFEST_ID,
    MAXIMUM_SIZE,
    ManifestDamagedError,
    decode,
    digest,
    encode,
    new_id,
)
from tests.state.samples import MANIFEST

TEXT = encode(MANIFEST)


def changed(*path: str | int, value: Any) -> str:
    """The sample's text with one value replaced."""
    document = json.loads(TEXT)
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(document)


def reason(text: str) -> str:
    with pytest.raises(ManifestDamagedError) as caught:
        decode(text)
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_a_manifest_is_read_back_as_it_was() -> None:
    assert decode(TEXT) == MANIFEST
    assert decode(TEXT).overlay[0].source == "src/sample/caf\udce9.py"


def test_the_text_is_ascii_sorted_and_ends_with_a_newline() -> None:
    assert TEXT.isascii()
    assert TEXT.endswith("}\n")
    assert json.dumps(json.loads(TEXT), indent=1, sort_keys=True) + "\n" == TEXT
    assert encode(copy.deepcopy(MANIFEST)) == TEXT


def test_the_digest_is_that_of_the_bytes_written() -> None:
    assert digest(TEXT) == hashlib.sha256(TEXT.encode("ascii")).hexdigest()
    assert len(digest("\ud800")) == 64


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[" * 100_000, "nested"),
        ("9" * 10_000, "no JSON"),
        ("[]", "no JSON object"),
        ("{}", "its schema is not overlaysync.manifest/1"),
        (changed("schema", value="overlaysync.manifest/2"), "newer version of overlaysync"),
        (changed("schema", value="overlaysync.result/2"), "its schema is not"),
        (changed("schema", value=None), "its schema is not"),
        (changed("time", value=3), "$.time"),
        (changed("operations", 0, "action", value="\x1b[31m"), "Invalid enum value"),
        (changed("timings_ms", "total", value=float("nan")), "NaN is no number"),
        (TEXT.replace("12.5", "1e999"), "1e999 is no number"),
    ],
)
def test_what_is_no_manifest_of_ours(text: str, why: str) -> None:
    assert why in reason(text)


def test_a_text_above_the_limit() -> None:
    filler = " " * (MAXIMUM_SIZE - len(TEXT))
    assert decode(TEXT + filler) == MANIFEST
    assert "64 MiB" in reason(TEXT + filler + " ")


def test_fields_of_a_later_minor_version_are_passed_over() -> None:
    assert decode(changed("future", value={"destination": "/etc/passwd"})) == MANIFEST


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../outside.py",
        "a/../../b.py",
        "a//b.py",
        "a/",
        "./a.py",
        "",
        ".",
        "..",
        "a\0b",
        "\ud800.py",
    ],
)
@pytest.mark.parametrize(
    "place", [("overlay", 0, "destination"), ("operations", 0, "source"), ("files", 0, "destination")]
)
def test_paths_cannot_leave_their_root(place: tuple[str | int, ...], path: str) -> None:
    assert "has not the form of" in reason(changed(*place, value=path))


@pytest.mark.parametrize("path", ["a.py", "a/b.py", "...", "..a/.b", "a/b..", "caf\udce9/ü.py", "a b\n.py"])
def test_paths_that_stay(path: str) -> None:
    assert decode(changed("overlay", 0, "destination", value=path)).overlay[0].destination == path


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("id",), "../../outside"),
        (("id",), "latest"),
        (("previous",), "a/b"),
        (("diff_sha256",), "A" * 64),
        (("previous_sha256",), "a" * 63),
        (("overlay", 0, "installed_sha256"), ""),
        (("overlay", 0, "blob"), "2" * 7),
        (("operations", 0, "before"), "x" * 64),
        (("baseline", "head"), "HEAD"),
        (("baseline", "evidence", 0, "commit"), "v1.0"),
        (("baseline", "content", "different", 0, "target_sha256"), "a" * 64 + "\n"),
        (("not_packaged", 0), "../a.py"),
    ],
)
def test_digests_and_ids_have_their_form(place: tuple[str | int, ...], value: str) -> None:
    assert "has not the form of" in reason(changed(*place, value=value))


def test_every_digest_id_and_path_of_the_types_is_checked() -> None:
    checked = {
        name
        for kind in _structs(Manifest)
        for name, hint in typing.get_type_hints(kind).items()
        if _mentions(hint, {Sha256, ObjectId, RepoPath, InstalledPath})
    }
    assert checked == set(FORMS) - {"id", "previous"}


def _structs(kind: Any) -> set[Any]:
    found = {kind} if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else set()
    inner = typing.get_type_hints(kind).values() if found else typing.get_args(kind)
    return found.union(*(_structs(each) for each in inner))


def _mentions(hint: Any, names: set[Any]) -> bool:
    return hint in names or any(_mentions(each, names) for each in typing.get_args(hint))


def test_ids_sort_by_time_whatever_the_time_zone() -> None:
    east = timezone(timedelta(hours=9))
    moment = datetime(2026, 11, 29, 16, 15, 0, 250_999, timezone.utc)
    assert new_id(moment, b"\x3f\x9c\x2a\xff") == "20261129T161500.250Z-3f9c2a"
    moments = [moment + timedelta(milliseconds=step) for step in (0, 1, 749, 750, 60_000)]
    zones = (timezone.utc, east, timezone.utc, east, east)
    names = [
        new_id(each.astimezone(zone), bytes([255 - step] * 3))
        for step, (each, zone) in enumerate(zip(moments, zones, strict=True))
    ]
    assert names == sorted(names)
    assert all(MANIFEST_ID.fullmatch(name) for name in names)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.text() | JSON.map(json.dumps))
def test_any_text_is_refused_as_damaged(text: str) -> None:
    reason(text)


@given(st.data())
def test_a_manifest_with_any_value_anywhere_is_refused_or_stays_a_manifest(data: st.DataObject) -> None:
    place: list[str | int] = []
    value: Any = json.loads(TEXT)
    while isinstance(value, dict | list) and value and (not place or data.draw(st.booleans())):
        step = data.draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
        place.append(step)
        value = value[step]
    with contextlib.suppress(ManifestDamagedError):
        manifest = decode(changed(*place, value=data.draw(JSON)))
        assert decode(encode(manifest)) == manifest
