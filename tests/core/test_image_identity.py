"""Which digest is compared with which, and how an index is resolved."""

from __future__ import annotations

import hashlib
import json

import pytest
from msgspec import json as decoder
from msgspec import structs

from overlaysync.core.image_identity import INDEX_TYPES, Index, platform_entry, resolve, same_image
from overlaysync.errors import UsageError
from overlaysync.model.target import UNKNOWN, TargetIdentity


def digest(letter: str) -> str:
    return f"sha256:{letter * 64}"


def entry(letter: str, platform: str, media_type: str = "application/vnd.oci.image.manifest.v1+json"):  # type: ignore[no-untyped-def]
    system, architecture, *variant = platform.split("/")
    described = {"os": system, "architecture": architecture, **({"variant": variant[0]} if variant else {})}
    return {"mediaType": media_type, "digest": digest(letter), "size": 1, "platform": described}


def document(*entries: object, media_type: str = INDEX_TYPES[0]) -> bytes:
    return json.dumps({"schemaVersion": 2, "mediaType": media_type, "manifests": entries}).encode()


TWO = document(
    entry("a", "linux/amd64"),
    entry("b", "linux/arm64/v8"),
    entry("e", "unknown/unknown"),  # an attestation
)
TWO_DIGEST = f"sha256:{hashlib.sha256(TWO).hexdigest()}"
PULLED = TargetIdentity(
    "docker",
    "dev",
    config_digest=digest("c"),
    repo_digests=(f"r.example/p@{TWO_DIGEST}",),
    platform="linux/amd64",
)


@pytest.mark.parametrize(
    ("platform", "found"),
    [
        ("linux/amd64", "a"),
        ("linux/x86_64", "a"),
        ("linux/amd64/v1", "a"),
        ("linux/amd64/v3", None),
        ("linux/arm64", "b"),
        ("linux/aarch64/v8", "b"),
        ("linux/arm", None),
        ("windows/amd64", None),
        (UNKNOWN, None),
        ("unknown/unknown", None),
    ],
)
def test_the_entry_of_a_platform(platform: str, found: str | None) -> None:
    index = decoder.decode(TWO, type=Index)
    assert platform_entry(index, platform) == (found and digest(found))


def test_several_entries_of_a_platform_are_not_guessed_from() -> None:
    twice = document(entry("a", "linux/amd64"), entry("b", "linux/amd64"))
    assert platform_entry(decoder.decode(twice, type=Index), "linux/amd64") is None
    same = document(entry("a", "linux/amd64"), entry("a", "linux/amd64"))
    assert platform_entry(decoder.decode(same, type=Index), "linux/amd64") == digest("a")
    nested = document(entry("a", "linux/amd64", INDEX_TYPES[0]))
    assert platform_entry(decoder.decode(nested, type=Index), "linux/amd64") is None


@pytest.mark.parametrize("text", [TWO, TWO + b"\n"])
def test_an_index_is_resolved_and_both_digests_are_kept(text: bytes) -> None:
    resolved = resolve(PULLED, text)
    assert (resolved.index_digest, resolved.manifest_digest) == (TWO_DIGEST, digest("a"))
    assert structs.replace(resolved, index_digest=UNKNOWN, manifest_digest=UNKNOWN) == PULLED


@pytest.mark.parametrize(
    ("identity", "text", "says"),
    [
        (PULLED, b"{", "is no index"),
        (PULLED, b"[]", "is no index"),
        (PULLED, document(media_type="application/vnd.oci.image.manifest.v1+json"), "is no index but"),
        (PULLED, TWO.replace(b'"size": 1', b'"size": 2'), "another image"),
        (structs.replace(PULLED, repo_digests=()), TWO, "digests of this one: none"),
        (structs.replace(PULLED, platform="linux/s390x"), TWO, "not exactly one manifest for linux/s390x"),
        (structs.replace(PULLED, manifest_digest=digest("b")), TWO, f"but the engine runs {digest('b')}"),
    ],
)
def test_an_index_that_does_not_fit(identity: TargetIdentity, text: bytes, says: str) -> None:
    with pytest.raises(UsageError, match="the image index") as caught:
        resolve(identity, text)
    assert says in str(caught.value)


def test_images_are_the_same_by_digests_of_one_kind() -> None:
    resolved = resolve(PULLED, TWO)
    containerd = TargetIdentity(
        "docker", "dev", image_id=TWO_DIGEST, index_digest=TWO_DIGEST, manifest_digest=digest("a")
    )
    by_digest = TargetIdentity(
        "docker", "dev", repo_digests=(f"mirror.example/p@{digest('a')}",), platform="linux/amd64"
    )
    unknown = TargetIdentity("local", "/env", platform="linux/amd64")
    assert same_image(PULLED, PULLED)
    assert same_image(resolved, containerd)
    assert same_image(resolved, by_digest)
    assert not same_image(PULLED, by_digest), "an index and a manifest differ, though they may be one image"
    assert not same_image(unknown, unknown)


def test_two_platforms_of_one_index_are_two_images() -> None:
    names = (f"r.example/p@{TWO_DIGEST}",)
    here = TargetIdentity("docker", "dev", repo_digests=names, platform="linux/amd64")
    there = structs.replace(here, platform="linux/arm64")
    assert same_image(here, here)
    assert not same_image(here, there)
    assert not same_image(structs.replace(here, platform=UNKNOWN), here)
    assert not same_image(PULLED, structs.replace(PULLED, config_digest=digest("d")))
