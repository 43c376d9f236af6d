"""Which paths of an install root are the distribution's."""

from __future__ import annotations

from collections.abc import Iterable

from overlaysync.model.target import InstalledPath, Inventory

OURS = ".overlaysync"
"""How every name of our own in a target begins."""


def outside_distribution(paths: Iterable[InstalledPath], inventory: Inventory) -> InstalledPath | None:
    """The first of some paths that is in none of the directories where the distribution has modules.

    A record may be forged: what it names is written to, and taken away.
    """
    installed = [file.path for file in inventory.files]
    directories = {path[: path.index("/")] for path in installed if "/" in path} - {inventory.metadata}
    at_top = any("/" not in path for path in installed)
    for path in paths:
        first, _, rest = path.partition("/")
        ours = any(part.startswith(OURS) for part in path.split("/"))
        if ours or not (first in directories or (at_top and not rest)):
            return path
    return None
