"""Where records and cache are kept."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from overlaysync.errors import UsageError
from overlaysync.state.directories import cache_directory, state_directory, user_configuration


@pytest.fixture(autouse=True)
def locations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "deep" / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "deep" / "cache"))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_made_where_the_environment_says_for_their_owner_alone(tmp_path: Path) -> None:
    state, cache = state_directory(), cache_directory()
    assert state == tmp_path / "deep" / "state" / "overlaysync"
    assert cache == tmp_path / "deep" / "cache" / "overlaysync"
    assert (mode(state), mode(cache)) == (0o700, 0o700)


def test_an_open_directory_is_closed_to_others() -> None:
    state_directory().chmod(0o755)
    assert mode(state_directory()) == 0o700


def test_what_cannot_be_made_ends_the_run_for_records_only(tmp_path: Path) -> None:
    (tmp_path / "deep").write_text("in the way")
    with pytest.raises(UsageError, match="records cannot be kept") as caught:
        state_directory()
    assert "XDG_STATE_HOME" in str(caught.value.next_step)
    assert cache_directory() is None


def test_nothing_is_made_in_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, "relative")
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    assert state_directory() == home / ".local/state/overlaysync"
    assert cache_directory() == home / ".cache/overlaysync"
    assert user_configuration() == home / ".config/overlaysync"
    assert os.listdir(tmp_path) == ["home"]


def test_without_a_home_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "relative")
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for directory in (state_directory, user_configuration):
        with pytest.raises(UsageError, match="no home directory is known"):
            directory()
    assert cache_directory() is None
    assert os.listdir(tmp_path) == []
