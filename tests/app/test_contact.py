"""What a look prepared ahead, and does not need in the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from overlaysync.app.calling import Link, link
from overlaysync.app.contact import find
from overlaysync.app.options import Options
from overlaysync.errors import LockedError, TargetError
from tests.agent.vocabulary import METADATA, NAME, Site
from tests.parts.environments import make_environment


class Place:
    """An environment that holds the distribution."""

    def __init__(self, directory: Path) -> None:
        self.environment = make_environment(directory / "environment")
        self.site = Site(self.environment.site_packages).install()
        self.options = Options(
            worktree=directory, container=f"local:{self.environment.prefix}", distribution=NAME
        )

    def is_locked(self) -> bool:
        with link(self.options) as other:
            try:
                other.session.open(str(self.site.root), METADATA, NAME, "sha1")
            except LockedError:
                return True
        return False


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def looked(place: Place) -> Iterator[Link]:
    """A conversation in which one look was taken, so that the next one is prepared."""
    with link(place.options) as opened:
        find(opened).open("sha1")
        opened.session.release()
        assert opened.early.preparation is not None
        yield opened


def test_it_holds_the_lock_from_the_start(place: Place, looked: Link) -> None:
    assert not place.is_locked()
    find(looked)
    assert place.is_locked()


def test_one_that_finds_nothing_lets_go_of_the_lock(place: Place, looked: Link) -> None:
    with pytest.raises(TargetError, match="holds absent"):
        find(structs.replace(looked, name="absent"))
    assert not place.is_locked()
