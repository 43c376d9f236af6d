"""Where the host keeps its records."""

from __future__ import annotations

from overlaysync.app.options import Options
from overlaysync.state.directories import state_directory
from overlaysync.state.manifests import ManifestStore


def store(options: Options) -> ManifestStore:
    """The store of manifests. Raises UsageError when its directory cannot be made."""
    return ManifestStore(options.records if options.records is not None else state_directory())
