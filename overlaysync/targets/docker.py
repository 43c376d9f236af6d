"""``docker:NAME``: a running container, by the docker command line (contexts come with it)."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from overlaysync.errors import NoInterpreterError, OverlaysyncError, TargetError
from overlaysync.model.target import UNKNOWN, Setting, TargetIdentity
from overlaysync.targets import discovery, image_digests
from overlaysync.targets.begun import NAME, Begun, Start
from overlaysync.targets.inspected import InspectedContainer, InspectedImage, State
from overlaysync.targets.pipes import ChildProcess

Inspected = TypeVar("Inspected", InspectedContainer, InspectedImage)

PYTHONS = (
    "python3",
    "python",
    "/usr/bin/python3",
    "/usr/local/bin/python3",
    "/opt/venv/bin/python3",
    "/opt/conda/bin/python3",
    "/venv/bin/python3",
    "/.venv/bin/python3",
)
EVENTS = ("create", "destroy", "die", "oom", "pause", "rename", "start", "unpause")
INSPECT_SECONDS = 60.0
UNREACHABLE = (
    "cannot connect to",
    "failed to connect to",
    "error during connect",
    "permission denied while trying to connect",
)
"""What the command says, in lower case, when it does not reach its engine."""


class DockerTransport:
    """Starts processes in one container with ``docker exec``. It has no copy method (design §5)."""

    program = "docker"

    def __init__(
        self,
        name: str,
        *,
        interpreter: str | None = None,
        user: str | None = None,
        begun: Begun | None = None,
    ) -> None:
        if not NAME.fullmatch(name):
            raise TargetError(
                f"{name!r} is no container name or id", f"list the containers: {self.program} ps"
            )
        self.name = name
        self._interpreter = interpreter
        self._user = user
        self._begun = begun or Begun()
        self._container: InspectedContainer | None = None
        self._image: InspectedImage | None = None

    def describe(self) -> TargetIdentity:
        container, image = self._inspect_container(), self._inspect_image()
        return TargetIdentity(
            kind=self.program,
            name=self.name,
            container_id=container.id,
            created_at=container.created,
            started_at=container.state.started_at,
            image_id=container.image,
            image_name=container.config.image or UNKNOWN,
            config_digest=image_digests.config_digest(image),
            manifest_digest=image_digests.manifest_digest(container, image),
            index_digest=image_digests.index_digest(image),
            repo_digests=image_digests.repo_digests(image),
            platform=image_digests.platform(container, image),
            engine=self.program,
        )

    def setting(self) -> Setting:
        container = self._inspect_container()
        config = container.config
        pairs = (entry.partition("=") for entry in config.env or ())
        return Setting(
            user=config.user or "",
            environment={key: value for key, _, value in pairs},
            working_directory=config.working_dir or "/",
            command=(container.path or "", *(container.args or ())),
        )

    def labels(self) -> dict[str, str]:
        config = self._inspect_image().config
        return (config.labels if config is not None else None) or {}

    def interpreters(self) -> Sequence[str]:
        return [self._interpreter] if self._interpreter is not None else PYTHONS

    def shell(self) -> str:
        return f"{self.program} exec --user root {self.name} sh -c"

    def start(self, argv: Sequence[str], first: bytes = b"") -> ChildProcess:
        container = self._inspect_container().id  # the name may stand for another one by now
        return self._begun.start(Start(self.program, container, self._user, tuple(argv)), first)

    def events(self) -> ChildProcess:
        """Also of another container that gets the name."""
        filters = ["type=container", f"container={self.name}", *(f"event={event}" for event in EVENTS)]
        options = [word for text in filters for word in ("--filter", text)]
        return ChildProcess([self.program, "events", *options, "--format", "{{.Action}}"])

    def explain(self, exit_code: int | None, stderr: str) -> OverlaysyncError:
        last = (stderr.splitlines()[-1:] or ["it said nothing"])[0]
        if (error := self._engine_error(stderr)) is not None:
            return error
        if "unable to find user" in stderr or "no matching entries in passwd" in stderr:
            return TargetError(
                f"container {self.name} has no user {self._user or self.setting().user}",
                "name a user of the container: --user NAME",
            )
        if self._interpreter is not None:
            return NoInterpreterError(
                f"{self._interpreter} in container {self.name} is no Python that can be started: {last}",
                "name the workload's Python by its full path in the container: --interpreter PATH",
            )
        if exit_code in (126, 127):
            missing = "not found" in stderr or "no such file" in stderr.lower()
            return NoInterpreterError(
                f"no Python was found in container {self.name}"
                if missing
                else f"the Python of container {self.name} cannot be started: {last}",
                "name one by its full path in the container: --interpreter PATH",
            )
        return TargetError(
            f"the agent did not start in container {self.name} (exit code {exit_code}): {last}",
            f"try: {self.program} exec {self.name} python3 --version",
        )

    def close(self) -> None:
        pass

    # -- what the engine tells -------------------------------------------------------------------------

    def _inspect_container(self) -> InspectedContainer:
        if self._container is None:
            deadline = time.monotonic() + INSPECT_SECONDS
            container = self._told_already()
            if container is None:
                left = max(1.0, deadline - time.monotonic())
                container = self._inspect("container", self.name, InspectedContainer, left)
            self._refuse_state(container.state)
            self._container = container
        return self._container

    def _told_already(self) -> InspectedContainer | None:
        """What the engine was asked before anything else was known, if that was of this container."""
        answer = self._begun.inspected(self.program, self.name, INSPECT_SECONDS)
        try:
            first, second = msgspec.json.decode(answer, type=tuple[msgspec.Raw, msgspec.Raw])
            container = msgspec.json.decode(first, type=InspectedContainer)
            image = msgspec.json.decode(second, type=InspectedImage)
        except msgspec.MsgspecError:
            return None
        if image.id == container.image:
            self._image = image
        return container

    def _inspect_image(self) -> InspectedImage:
        """The image by its id, never by its tag, which may name another one by now; empty when it is gone."""
        if self._image is None:
            try:
                self._image = self._inspect("image", self._inspect_container().image, InspectedImage)
            except TargetError as error:
                if error.code != "no-image":
                    raise  # evidence that cannot be read now must not look like evidence that is not there
                self._image = InspectedImage()
        return self._image

    def _refuse_state(self, state: State) -> None:
        if state.paused:
            raise TargetError(
                f"container {self.name} is paused, so nothing can be proven in it",
                f"{self.program} unpause {self.name}",
                code="target-paused",
            )
        if not state.running or state.restarting:
            raise TargetError(
                f"container {self.name} is not running (it is {state.status})",
                f"{self.program} start {self.name}",
                code="target-stopped",
            )

    def _inspect(
        self, kind: str, name: str, record: type[Inspected], seconds: float = INSPECT_SECONDS
    ) -> Inspected:
        try:
            answer = subprocess.run(
                [self.program, kind, "inspect", name],
                capture_output=True,
                timeout=seconds,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except FileNotFoundError as error:
            raise TargetError(
                f"the {self.program} command is not installed",
                f"install {self.program}, or name another kind of target (local:PREFIX)",
                code="no-engine",
            ) from error
        except OSError as error:
            raise TargetError(
                f"the {self.program} command cannot be started: {error.strerror}",
                f"look at the first {self.program} on PATH",
                code="no-engine",
            ) from error
        except subprocess.TimeoutExpired as error:
            raise TargetError(
                f"{self.program} does not answer", f"try: {self.program} version", code="no-engine"
            ) from error
        stderr = answer.stderr.decode("utf-8", "replace")
        if answer.returncode != 0:
            reason = " ".join(stderr.split())[:500] or "no reason given"
            raise self._engine_error(stderr) or TargetError(
                f"{self.program} {kind} inspect {name} failed: {reason}",
                f"try: {self.program} version",
            )
        try:
            return msgspec.json.decode(answer.stdout, type=list[record])[0]  # type: ignore[valid-type]
        except (msgspec.MsgspecError, IndexError) as error:
            raise TargetError(
                f"{self.program} {kind} inspect {name} answered what no engine answers: {error}",
                f"try: {self.program} version",
            ) from error

    def _engine_error(self, stderr: str) -> TargetError | None:
        lowered = stderr.lower()
        if "no such container" in lowered:
            instead = discovery.instead(self.name, discovery.containers(self.program) - {self.name})
            return TargetError(
                f"there is no container named {self.name}",
                f"{instead}list them: {self.program} ps --all",
                code="no-container",
            )
        if "no such image" in lowered:
            return TargetError("the container's image is gone", code="no-image")
        if "is not running" in lowered:
            return TargetError(
                f"container {self.name} is not running",
                f"{self.program} start {self.name}",
                code="target-stopped",
            )
        if "is paused" in lowered:
            return TargetError(
                f"container {self.name} is paused",
                f"{self.program} unpause {self.name}",
                code="target-paused",
            )
        if any(text in lowered for text in UNREACHABLE):
            return TargetError(
                f"the {self.program} engine does not answer: {stderr.strip().splitlines()[0]}",
                self._way_to_engine(lowered),
                code="no-engine",
            )
        return None

    def _way_to_engine(self, complaint: str) -> str:
        if "permission denied" in complaint:
            return f"run as a user who may use it (on Linux: of the group {self.program})"
        host = os.environ.get("DOCKER_HOST")
        named = f"; DOCKER_HOST names {host}" if host else ""
        return f"start it, or look at: {self.program} version{named}"
