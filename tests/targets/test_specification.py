"""Words that name a target."""

from __future__ import annotations

from pathlib import Path

import pytest

from overlaysync.errors import OverlaysyncError, TargetError, UsageError
from overlaysync.targets.docker import DockerTransport
from overlaysync.targets.local import LocalTransport
from overlaysync.targets.specification import open_target


@pytest.mark.parametrize("words", ["my-dev", "docker:my-dev", "0123456789ab", "a", "Web_1.2-x"])
def test_containers(words: str) -> None:
    transport = open_target(words)
    assert isinstance(transport, DockerTransport)
    assert transport.name == words.removeprefix("docker:")


def test_local_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words, prefix in ((f"local:{tmp_path}", tmp_path), ("local:venv", tmp_path / "venv")):
        transport = open_target(words)
        assert isinstance(transport, LocalTransport)
        assert transport.prefix == prefix
    home = open_target("local:~/venv")
    assert isinstance(home, LocalTransport)
    assert home.prefix == Path.home() / "venv"


@pytest.mark.parametrize("kind", ["podman", "ssh", "k8s", "slurm", "ray"])
def test_kinds_that_come_later_are_named(kind: str) -> None:
    with pytest.raises(UsageError, match=f"kind {kind}: are not supported"):
        open_target(f"{kind}:name")


@pytest.mark.parametrize("words", ["", "docker:", "local:", ":", "lxc:name", ":name", "Docker:name"])
def test_words_that_name_nothing(words: str) -> None:
    with pytest.raises(OverlaysyncError) as refused:
        open_target(words)
    assert refused.value.exit_code in (2, 7)
    assert refused.value.next_step


@pytest.mark.parametrize(
    "name",
    ["-it", "--privileged", "a b", "a/b", "../x", "a;id", "$(id)", "a\n", "a\0", ".hidden", "café", "a:b"],
)
def test_names_that_are_no_container(name: str) -> None:
    """Least of all an option of the engine's command."""
    with pytest.raises(TargetError, match="no container name"):
        open_target(f"docker:{name}")


def test_a_local_target_has_no_other_user(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="as the user who runs overlaysync"):
        open_target(f"local:{tmp_path}", user="root")
