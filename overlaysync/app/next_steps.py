"""Next steps as they are to be typed: they name what the command line named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from overlaysync.app.calling import find_root
from overlaysync.app.options import Options
from overlaysync.errors import InterruptedRunError, OverlaysyncError

if TYPE_CHECKING:
    from overlaysync.core.addressing import Addressee


def addressee(options: Sequence[Options]) -> Addressee:
    """``options``: of the command, for each target; none for one that has neither target nor worktree."""
    from overlaysync.core.addressing import Addressee  # a run that is well names no next step

    if not options:
        return Addressee()
    first = options[0]
    given = {
        "--config": first.config,
        "--distribution": first.distribution,
        "--interpreter": first.interpreter,
        "--user": first.user,
        "--image-commit": first.image_commit,
        "--image-index": first.image_index,
    }
    root = find_root(first.worktree).resolve()
    return Addressee(
        targets=tuple(item.container for item in options if item.container is not None),
        directory=str(first.worktree),
        options=tuple((name, str(value)) for name, value in given.items() if value is not None),
        root=None if _is_here(root) else str(root),
    )


def _is_here(root: Path) -> bool:
    try:
        return root.samefile(".")
    except OSError:
        return False


@contextmanager
def addressed(options: Sequence[Options]) -> Iterator[None]:
    """The same for what ends a run; also for an interrupt, which is an InterruptedRunError then."""
    try:
        yield
    except (KeyboardInterrupt, OverlaysyncError) as error:
        ended = InterruptedRunError() if isinstance(error, KeyboardInterrupt) else error
        if ended.next_step is not None:
            ended.next_step = addressee(options).step(ended.next_step)
        raise ended from error.__cause__
