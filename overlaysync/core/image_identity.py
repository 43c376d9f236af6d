"""Which image it is: one image has several digests, and only digests of one kind may be compared.

The configuration, the manifest of one platform, and the index over all platforms each have a digest of their
own (OCI image specification). A pull by a tag may record the index, a pull by a digest the manifest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec
from msgspec import Struct, structs

from overlaysync.errors import UsageError
from overlaysync.model.target import UNKNOWN, TargetIdentity

INDEX_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFEST_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)

_NEXT_STEP = "take the document from the registry: docker buildx imagetools inspect --raw NAME > FILE"
_SAME_ARCHITECTURE = {"x86_64": "amd64", "x86-64": "amd64", "aarch64": "arm64", "armhf": "arm"}
_SAME_VARIANT = {("amd64", "v1"): "", ("arm64", "v8"): "", ("arm64", "8"): "", ("arm", ""): "v7"}
"""What engines take for one platform (containerd, package platforms)."""


class Platform(Struct, frozen=True):
    os: str
    architecture: str
    variant: str | None = None

    def __str__(self) -> str:
        return "/".join(filter(None, (self.os, self.architecture, self.variant)))


class Entry(Struct, frozen=True, rename="camel"):
    digest: str
    media_type: str = MANIFEST_TYPES[0]
    platform: Platform | None = None


class Index(Struct, frozen=True, rename="camel"):
    """An OCI image index, or Docker's manifest list, as far as it is of use."""

    schema_version: int
    manifests: tuple[Entry, ...]
    media_type: str = INDEX_TYPES[0]


def platform_entry(index: Index, platform: str) -> str | None:
    """The digest of the one manifest for this platform; None where there is none, or more than one."""
    wanted = _normal(platform)
    if UNKNOWN in wanted:
        return None  # entries of an unknown platform are no images but attestations
    found = {
        entry.digest
        for entry in index.manifests
        if entry.media_type in MANIFEST_TYPES and entry.platform and _normal(str(entry.platform)) == wanted
    }
    return found.pop() if len(found) == 1 else None


def resolve(identity: TargetIdentity, document: bytes) -> TargetIdentity:
    """The identity with index and manifest of its platform, by the index that its engine recorded.

    The document is believed by its digest alone: it must be one that the engine tells of this image.
    Raises UsageError where it is none, another image's, or silent on the platform.
    """
    try:
        index = msgspec.json.decode(document, type=Index)
    except msgspec.MsgspecError as error:
        raise UsageError(f"the image index is no index of images: {error}", _NEXT_STEP) from error
    if index.media_type not in INDEX_TYPES:
        raise UsageError(f"the image index is no index but {index.media_type}", _NEXT_STEP)
    recorded = set(_digests(identity))
    # a redirected print may have ended the document with a line feed
    digest = next((item for item in map(_digest, (document, document.strip())) if item in recorded), None)
    if digest is None:
        known = ", ".join(sorted(recorded)) or "none"
        raise UsageError(
            f"the image index is {_digest(document)}, which the engine tells of another image or of none "
            f"(digests of this one: {known})",
            _NEXT_STEP,
        )
    manifest = platform_entry(index, identity.platform)
    if manifest is None:
        raise UsageError(
            f"the image index has not exactly one manifest for {identity.platform}", "leave it out"
        )
    if identity.manifest_digest not in (UNKNOWN, manifest):
        raise UsageError(
            f"the image index says {manifest} for {identity.platform}, "
            f"but the engine runs {identity.manifest_digest}",
            "leave it out",
        )
    return structs.replace(identity, index_digest=digest, manifest_digest=manifest)


def same_image(one: TargetIdentity, other: TargetIdentity) -> bool:
    """Whether two identities are proven to be of one image, however each engine calls it.

    An index alone does not do: two platforms of one index are two images.
    """
    if UNKNOWN not in (one.config_digest, other.config_digest):
        return one.config_digest == other.config_digest
    if UNKNOWN not in (one.manifest_digest, other.manifest_digest):
        return one.manifest_digest == other.manifest_digest
    if UNKNOWN in (one.platform, other.platform) or _normal(one.platform) != _normal(other.platform):
        return False
    return bool(set(_digests(one)) & set(_digests(other)))


def _digests(identity: TargetIdentity) -> Iterator[str]:
    """Digests of manifests and indexes that the engine tells of the image."""
    yield from (item.rpartition("@")[2] for item in identity.repo_digests)
    yield from (item for item in (identity.index_digest, identity.manifest_digest) if item != UNKNOWN)


def _digest(document: bytes) -> str:
    return f"sha256:{hashlib.sha256(document).hexdigest()}"


def _normal(platform: str) -> tuple[str, str, str]:
    system, _, rest = platform.lower().partition("/")
    architecture, _, variant = rest.partition("/")
    architecture = _SAME_ARCHITECTURE.get(architecture, architecture)
    return system, architecture, _SAME_VARIANT.get((architecture, variant), variant)
