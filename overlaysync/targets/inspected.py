"""What an engine's ``inspect`` says of containers and images, as far as it is of use (Docker Engine API)."""

from __future__ import annotations

from msgspec import Struct

from overlaysync.model.target import UNKNOWN


class State(Struct, frozen=True, rename="pascal"):
    status: str = UNKNOWN
    running: bool = False
    paused: bool = False
    restarting: bool = False
    started_at: str = UNKNOWN


class ContainerConfig(Struct, frozen=True, rename="pascal"):
    image: str | None = None
    user: str | None = None
    working_dir: str | None = None
    env: list[str] | None = None


class DescribedPlatform(Struct, frozen=True):
    os: str | None = None
    architecture: str | None = None
    variant: str | None = None


class Descriptor(Struct, frozen=True, rename="camel"):
    """What a digest names (OCI content descriptor)."""

    digest: str = UNKNOWN
    media_type: str = UNKNOWN
    platform: DescribedPlatform | None = None


class InspectedContainer(Struct, frozen=True, rename="pascal"):
    """``image`` is the image's id; the name that it was started by stands in ``config``.

    ``image_manifest_descriptor``: the platform's manifest (containerd image store, Engine API 1.48 or newer).
    """

    id: str
    image: str
    state: State
    config: ContainerConfig
    created: str = UNKNOWN
    path: str | None = None
    args: list[str] | None = None
    image_manifest_descriptor: Descriptor | None = None


class ImageConfig(Struct, frozen=True, rename="pascal"):
    labels: dict[str, str] | None = None


class GraphDriver(Struct, frozen=True, rename="pascal"):
    data: dict[str, str] | None = None


class InspectedImage(Struct, frozen=True, rename="pascal"):
    """``descriptor``: what the id names, where the store keeps indexes and manifests (containerd)."""

    id: str = UNKNOWN
    os: str | None = None
    architecture: str | None = None
    variant: str | None = None
    repo_digests: list[str] | None = None
    descriptor: Descriptor | None = None
    graph_driver: GraphDriver | None = None
    config: ImageConfig | None = None
