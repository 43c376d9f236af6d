"""Whether a target still holds the overlay that was recorded of it."""

from __future__ import annotations

from msgspec import Struct

from overlaysync.errors import OverlaysyncError
from overlaysync.model.ahead import Ahead
from overlaysync.model.manifest import Manifest
from overlaysync.model.target import UNKNOWN, FileKind
from overlaysync.remote.connecting import connect
from overlaysync.state.manifest_text import ManifestDamagedError, decode
from overlaysync.targets.specification import open_target

ANSWER_SECONDS = 3.0
"""A target that answers later is not waited for."""
AT_REST = ("target-stopped", "target-paused")
"""Codes of errors of a container that keeps what it has."""
GONE = ("no-container", "no-environment")
"""Codes of errors of a target that is not there."""


class Answer(Struct, frozen=True):
    """What a target says of an overlay.

    ``lost``: how it holds it no more. ``note``: why it says nothing. ``is_gone``: there is no such target.
    """

    lost: str | None = None
    note: str | None = None
    is_gone: bool = False
    rests: bool = False  # it is stopped or paused, which changes none of its files

    @property
    def holds(self) -> bool:
        return self.rests or (self.lost is None and self.note is None)

    @property
    def may_hold(self) -> bool:
        """What does not answer just now may hold it all the same."""
        return self.lost is None and not self.is_gone


def ask(manifest: Manifest) -> Answer:
    """Whether the target still holds an overlay; asked in a thread, for one that freezes."""
    asked = Ahead(lambda: _ask(manifest))
    if asked.ends_within(ANSWER_SECONDS):
        return asked.result()
    name = manifest.target.specification
    return Answer(note=f"{name} does not answer, so that it still holds the overlay is not known")


def _ask(manifest: Manifest) -> Answer:
    name = manifest.target.specification
    interpreter = manifest.interpreter.path if manifest.target.kind != "local" else None
    overlay = {item.destination: item.installed_sha256 for item in manifest.overlay}
    try:
        transport = open_target(name, interpreter=interpreter)
        container = transport.describe().container_id
        if container != manifest.target.container_id and UNKNOWN not in (
            container,
            manifest.target.container_id,
        ):
            return Answer(f"{name} is another container now")
        with connect(transport) as session:
            root = manifest.distribution.root
            text, files = session.glance(root, manifest.distribution.name, list(overlay), "sha1")
    except OverlaysyncError as error:
        note = f"{name} does not answer ({error.message}); the record alone is compared"
        return Answer(note=note, is_gone=error.code in GONE, rests=error.code in AT_REST)
    different = [
        path
        for path, file in files.items()
        if (file.sha256 if file.kind is not FileKind.MISSING else None) != overlay[path]
    ]
    if different:
        return Answer(f"{name} has other content in {', '.join(different[:3])}")
    if (there := _recorded(text)) != manifest.id:
        return Answer(f"{name} has {there}")
    return Answer()


def _recorded(text: str | None) -> str:
    """The id of the overlay that a target tells of, or what it tells of."""
    if text is None:
        return "no record of an overlay"
    try:
        return decode(text).id
    except ManifestDamagedError:
        return "a record that cannot be read"
