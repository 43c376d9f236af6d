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


class InspectedContainer(Struct, frozen=True, rename="pascal"):
    """``image`` is the image's id; the name that it was started by stands in ``config``."""

    id: str
    image: str
    state: State
    config: ContainerConfig
    path: str | None = None
    args: list[str] | None = None


class ImageConfig(Struct, frozen=True, rename="pascal"):
    labels: dict[str, str] | None = None


class InspectedImage(Struct, frozen=True, rename="pascal"):
    os: str | None = None
    architecture: str | None = None
    repo_digests: list[str] | None = None
    config: ImageConfig | None = None
