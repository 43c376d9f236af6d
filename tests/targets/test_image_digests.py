"""The digests of an image by the documents of each kind of engine (Docker Engine API, 1.41 to 1.49)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from overlaysync.model.target import UNKNOWN
from overlaysync.targets import image_digests
from overlaysync.targets.inspected import InspectedContainer, InspectedImage

CONFIG, MANIFEST, INDEX = (f"sha256:{letter * 64}" for letter in "cab")
DRIVER = {"Name": "overlay2", "Data": {"UpperDir": "/var/lib/docker/overlay2/x/diff"}}
AMD64 = {"Os": "linux", "Architecture": "amd64"}
INDEX_DESCRIPTOR = {"mediaType": "application/vnd.oci.image.index.v1+json", "digest": INDEX, "size": 9218}
ONE_DESCRIPTOR = {
    "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
    "digest": MANIFEST,
    "size": 528,
}
RUNNING = {
    "mediaType": "application/vnd.oci.image.manifest.v1+json",
    "digest": MANIFEST,
    "size": 1022,
    "platform": {"architecture": "arm64", "os": "linux", "variant": "v8"},
}


def digests(image: dict[str, Any], **container: Any) -> tuple[str, ...]:
    """Configuration, manifest and index digest, and the platform."""
    inspected = msgspec.convert({**AMD64, **image}, InspectedImage)
    run = {"Id": "1", "Image": inspected.id, "State": {}, "Config": {}, **container}
    running = msgspec.convert(run, InspectedContainer)
    return (
        image_digests.config_digest(inspected),
        image_digests.manifest_digest(running, inspected),
        image_digests.index_digest(inspected),
        image_digests.platform(running, inspected),
    )


@pytest.mark.parametrize("names", [None, [], [f"p@{INDEX}"]])
def test_the_classic_store_calls_an_image_by_its_configuration(names: list[str] | None) -> None:
    image = {"Id": CONFIG, "RepoDigests": names, "GraphDriver": DRIVER}
    assert digests(image) == (CONFIG, UNKNOWN, UNKNOWN, "linux/amd64")


def test_the_containerd_store_calls_it_by_its_index_or_manifest() -> None:
    image = {"Id": INDEX, "RepoDigests": [f"p@{INDEX}"], "Descriptor": INDEX_DESCRIPTOR}
    assert digests(image) == (UNKNOWN, UNKNOWN, INDEX, "linux/amd64")
    assert digests(image, ImageManifestDescriptor=RUNNING) == (UNKNOWN, MANIFEST, INDEX, "linux/arm64/v8")
    single = {"Id": MANIFEST, "RepoDigests": [f"p@{MANIFEST}"], "Descriptor": ONE_DESCRIPTOR}
    assert digests(single) == (UNKNOWN, MANIFEST, UNKNOWN, "linux/amd64")


@pytest.mark.parametrize("driver", [None, {"Name": "overlayfs", "Data": None}, DRIVER])
def test_an_engine_that_does_not_say_what_its_id_is(driver: Any) -> None:
    """The containerd store before API 1.48: an id that is a repository digest too is no configuration's."""
    image = {"Id": INDEX, "RepoDigests": [f"p@{INDEX}"], "GraphDriver": driver}
    assert digests(image) == (UNKNOWN, UNKNOWN, UNKNOWN, "linux/amd64")


def test_an_image_that_is_gone() -> None:
    inspected = InspectedImage()
    assert image_digests.config_digest(inspected) == UNKNOWN
    assert image_digests.repo_digests(inspected) == ()


def test_repository_digests_name_their_registry() -> None:
    names = ["p", "team/p", "localhost/p", "localhost:5000/team/p", "r.example/p"]
    inspected = InspectedImage(repo_digests=[f"{name}@{INDEX}" for name in names])
    assert image_digests.repo_digests(inspected) == tuple(
        f"{name}@{INDEX}"
        for name in (
            "docker.io/library/p",
            "docker.io/team/p",
            "localhost/p",
            "localhost:5000/team/p",
            "r.example/p",
        )
    )
