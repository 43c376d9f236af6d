"""The digests of a container's image, told apart by kind, from what ``docker inspect`` says.

The classic image store calls an image by the digest of its configuration, the containerd image store by that
of its manifest or index. Engines before API 1.48 do not say which of these it is.
"""

from __future__ import annotations

from overlaysync.core.image_identity import INDEX_TYPES, MANIFEST_TYPES
from overlaysync.model.target import UNKNOWN
from overlaysync.targets.inspected import DescribedPlatform, InspectedContainer, InspectedImage

DEFAULT_REGISTRY, OFFICIAL = "docker.io", "library"


def repo_digests(image: InspectedImage) -> tuple[str, ...]:
    """``registry/repository@digest``, in order; what the engine shortens is written out."""
    return tuple(sorted(_with_registry(item) for item in image.repo_digests or ()))


def _with_registry(reference: str) -> str:
    first, slash, _ = reference.partition("/")
    if not slash:
        return f"{DEFAULT_REGISTRY}/{OFFICIAL}/{reference}"
    is_registry = "." in first or ":" in first or first == "localhost"
    return reference if is_registry else f"{DEFAULT_REGISTRY}/{reference}"


def config_digest(image: InspectedImage) -> str:
    """The image's id, where the store is surely the classic one.

    Only that one has data of a storage driver for an image, and never a repository digest that is the id.
    """
    driver = image.graph_driver
    classic = image.descriptor is None and driver is not None and bool(driver.data)
    named = any(item.endswith(f"@{image.id}") for item in image.repo_digests or ())
    return image.id if classic and not named else UNKNOWN


def manifest_digest(container: InspectedContainer, image: InspectedImage) -> str:
    """The manifest that runs: the engine's word on the container, or an image that is one manifest."""
    if container.image_manifest_descriptor is not None:
        return container.image_manifest_descriptor.digest
    return _described(image, MANIFEST_TYPES)


def index_digest(image: InspectedImage) -> str:
    return _described(image, INDEX_TYPES)


def _described(image: InspectedImage, media_types: tuple[str, ...]) -> str:
    descriptor = image.descriptor
    return descriptor.digest if descriptor and descriptor.media_type in media_types else UNKNOWN


def platform(container: InspectedContainer, image: InspectedImage) -> str:
    """Of what runs, or else of the image: ``linux/arm64/v8``."""
    descriptor = container.image_manifest_descriptor
    found = descriptor.platform if descriptor is not None else None
    found = found or DescribedPlatform(image.os, image.architecture, image.variant)
    if not (found.os and found.architecture):
        return UNKNOWN
    return "/".join(filter(None, (found.os, found.architecture, found.variant)))
