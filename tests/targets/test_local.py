"""Environments of this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from overlaysync.errors import NoInterpreterError, TargetError
from overlaysync.remote.connecting import connect
from overlaysync.targets.local import LocalTransport
from tests.parts.environments import make_environment


def test_an_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = make_environment(tmp_path / "venv")
    monkeypatch.setenv("MARKER", "a=b")
    transport = LocalTransport(str(environment.prefix))
    identity, setting = transport.describe(), transport.setting()
    assert (identity.kind, identity.name) == ("local", str(environment.prefix))
    assert setting.environment["MARKER"] == "a=b"
    assert setting.working_directory == str(environment.prefix)
    assert transport.labels() == {}
    assert transport.interpreters()[0] == f"{environment.prefix}/bin/python3"
    with connect(transport) as session:
        assert session.hello.uid == os.geteuid()


def test_no_directory(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="there is no environment"):
        LocalTransport(str(tmp_path / "absent")).describe()


def test_no_python_in_it(tmp_path: Path) -> None:
    with pytest.raises(NoInterpreterError, match="has no bin/python3"):
        LocalTransport(str(tmp_path)).interpreters()


def test_no_other_python_of_this_machine_is_used(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    (tmp_path / "bin/python3").chmod(0o755)
    with pytest.raises(NoInterpreterError, match=r"does not run \(exit code 1\): broken"):
        connect(LocalTransport(str(tmp_path)))


def test_a_python_whose_base_is_gone(tmp_path: Path) -> None:
    """The link of a virtual environment leads nowhere."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").symlink_to(tmp_path / "gone")
    with pytest.raises(NoInterpreterError, match="has no bin/python3"):
        connect(LocalTransport(str(tmp_path)))


def test_a_python_that_may_not_be_started(tmp_path: Path) -> None:
    (tmp_path / "python3").write_text("")
    with pytest.raises(NoInterpreterError, match="cannot be started: Permission denied"):
        connect(LocalTransport(str(tmp_path), interpreter=str(tmp_path / "python3")))
