"""What differs between two sync manifests."""

from __future__ import annotations

from msgspec import Struct

from overlaysync.core.image_identity import same_image
from overlaysync.model.manifest import Manifest
from overlaysync.model.plan import Placement
from overlaysync.model.target import UNKNOWN


class FactDifference(Struct, frozen=True):
    """One fact that the manifests state differently; None where one of them states nothing."""

    name: str
    before: str | None
    after: str | None


class PlacementDifference(Struct, frozen=True):
    """One destination that both overlays hold, differently."""

    before: Placement
    after: Placement


class ManifestDifference(Struct, frozen=True):
    """From one manifest to another: facts in a fixed order, placements by destination."""

    before: str  # ids
    after: str
    facts: tuple[FactDifference, ...] = ()
    added: tuple[Placement, ...] = ()
    removed: tuple[Placement, ...] = ()
    changed: tuple[PlacementDifference, ...] = ()

    @property
    def same(self) -> bool:
        """Whether both describe the same overlay on the same ground."""
        return not (self.facts or self.added or self.removed or self.changed)


def compare(before: Manifest, after: Manifest) -> ManifestDifference:
    """What is different in ``after``. Time, tool, operations and timings are the run's, not its result's.

    What the image is called differs by engine and by pull; it is told only where it may be another image.
    """
    old_facts, new_facts = _facts(before), _facts(after)
    if not same_image(before.target, after.target):
        old_facts, new_facts = old_facts | _image_facts(before), new_facts | _image_facts(after)
    old = {placement.destination: placement for placement in before.overlay}
    new = {placement.destination: placement for placement in after.overlay}
    return ManifestDifference(
        before=before.id,
        after=after.id,
        facts=tuple(
            FactDifference(name, old_facts[name], new_facts[name])
            for name in old_facts
            if old_facts[name] != new_facts[name]
        ),
        added=tuple(new[path] for path in sorted(new.keys() - old.keys())),
        removed=tuple(old[path] for path in sorted(old.keys() - new.keys())),
        changed=tuple(
            PlacementDifference(old[path], new[path])
            for path in sorted(old.keys() & new.keys())
            if old[path] != new[path]
        ),
    )


def _facts(manifest: Manifest) -> dict[str, str | None]:
    target, distribution = manifest.target, manifest.distribution
    return {
        "repository": manifest.repository.root,
        "remote": manifest.repository.remote,
        "branch": manifest.repository.branch,
        "HEAD": manifest.baseline.head,
        "image commit": manifest.baseline.image_commit,
        "diff": manifest.diff_sha256,
        "target": target.specification,
        "container": target.container_id,
        "started": target.started_at,
        "platform": target.platform,
        "interpreter": manifest.interpreter.path,
        "interpreter version": manifest.interpreter.version,
        "distribution": f"{distribution.name} {distribution.version}",
        "install root": distribution.root,
        "RECORD": distribution.record_sha256,
    }


def _image_facts(manifest: Manifest) -> dict[str, str | None]:
    target = manifest.target
    return {
        "image": target.image_id,
        "config digest": target.config_digest,
        "repo digests": ", ".join(target.repo_digests) or UNKNOWN,
        "index digest": target.index_digest,
        "manifest digest": target.manifest_digest,
    }
