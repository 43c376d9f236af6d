"""Our own records in the target, damaged or forged: refused by name, and nothing is carried out."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.scenario import LocalScenario, check_answer, codes, local_tree, set_locally
from tests.parts.command_line import CommandLine

Forge = Callable[[Any], Any]
COMMANDS = ("push", "status", "verify", "revert")


def at(*path: str | int, value: Any) -> Forge:
    """The record with another value at one place."""

    def change(record: Any) -> Any:
        place = record
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        return record

    return change


def naming(destination: str) -> Forge:
    return at("overlay", 0, "destination", value=destination)


FORGED: dict[str, Forge] = {
    "a path above the root": naming("../outside.py"),
    "a path above the root, hidden": naming("sample_pkg/../../outside.py"),
    "an absolute path": naming("/etc/passwd"),
    "an empty path": naming(""),
    "a path with a dot": naming("sample_pkg/./engine.py"),
    "a path with a NUL": naming("sample_pkg/\0.py"),
    "a path that is no text": naming("sample_pkg/\ud800.py"),
    "a record of our own": naming(".overlaysync/sample-pkg/manifest.json"),
    "a temporary file of our own": naming("sample_pkg/.overlaysync-x-0"),
    "the dist-info": naming("sample_pkg-1.0.dist-info/RECORD"),
    "another distribution's file": naming("other_pkg/engine.py"),
    "a start-up hook": naming("evil.pth"),
    "a directory above the root": at("directories", value=["../outside"]),
    "another distribution's directory": at("directories", value=["other_pkg"]),
    "another distribution": at("distribution", "name", value="other-pkg"),
    "a newer version": at("schema", value="overlaysync.manifest/2"),
    "another schema": at("schema", value="\x1b[2J"),
    "an id that is a path": at("id", value="../../../outside"),
    "a digest that is none": at("overlay", 0, "original_sha256", value="\x1b[31m"),
    "a size that is none": at("files", 0, "size", value="\x1b[31m"),
    "an action that is none": at("operations", 0, "action", value="\x1b]0;title\x07" * 9),
    "an action that is no text": at("operations", 0, "action", value="\udc80"),
    "no object": lambda _record: [],
    "nothing of a manifest": lambda record: {"schema": record["schema"]},
}
"""What somebody in the container may have written in place of the overlay's record."""

DAMAGED: dict[str, bytes] = {
    "empty": b"",
    "half": b'{"schema": "overlaysync.mani',
    "no text": b"\xff\xfe\x00\x1b[2J",
    "nested deeply": b'{"a":' * 100_000,
    "a number of a million digits": b'{"schema": ' + b"9" * 1_000_000 + b"}",
    "not a number": b'{"schema": NaN}',
    "larger than any record": b" " * (65 << 20),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> LocalScenario:
    """An environment with an overlay, and a second distribution beside it; every test leaves it as it was."""
    directory = tmp_path_factory.mktemp("shared")
    work = set_locally(CommandLine(directory), directory)
    other = work.environment.site_packages / "other_pkg"
    other.mkdir()
    (other / "engine.py").write_text("OTHER = 1\n")
    work.edit_generation()
    home = {name: str(directory / "home") for name in ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
    assert work.ask("push", environment=home)["outcome"] == "applied"
    return work


@pytest.fixture
def overlaid(local: LocalScenario) -> LocalScenario:
    local.edit_generation()
    local.applied()
    return local


def record_of(work: LocalScenario) -> Path:
    return work.environment.site_packages / ".overlaysync/sample-pkg/manifest.json"


def refuses(work: LocalScenario, *commands: str) -> None:
    """In one line, and everything stays as it is, also around the environment."""
    before = local_tree(work.cli.directory / "environment")
    for command in commands:
        answer = work.ask(command)
        assert (answer["exit_code"], codes(answer)) == (5, ["overlay-damaged"]), answer
        assert len(answer["problems"][0]["message"]) < 600
    assert local_tree(work.cli.directory / "environment") == before


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED.keys())
def test_a_forged_record(shared: LocalScenario, forge: Forge) -> None:
    place = record_of(shared)
    whole = place.read_text()
    place.write_text(json.dumps(forge(json.loads(whole))))
    try:
        refuses(shared, "revert")  # which would carry it out
    finally:
        place.write_text(whole)


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_record(shared: LocalScenario, content: bytes) -> None:
    place = record_of(shared)
    whole = place.read_bytes()
    place.write_bytes(content)
    try:
        refuses(shared, "revert")
    finally:
        place.write_bytes(whole)


def test_every_command_refuses_it_and_a_whole_one_is_good(overlaid: LocalScenario) -> None:
    place = record_of(overlaid)
    whole = place.read_text()
    place.write_text(json.dumps(FORGED["another distribution's file"](json.loads(whole))))
    refuses(overlaid, *COMMANDS)
    place.write_text(whole)
    assert overlaid.ask("verify")["exit_code"] == 0
    assert overlaid.ask("revert")["outcome"] == "applied"


@pytest.mark.parametrize("kind", ["link", "fifo", "directory"])
def test_a_record_that_is_no_file(overlaid: LocalScenario, kind: str) -> None:
    place = record_of(overlaid)
    kept = overlaid.cli.directory / "kept.json"
    shutil.move(place, kept)
    if kind == "link":
        place.symlink_to(kept)
    elif kind == "fifo":
        os.mkfifo(place)
    else:
        place.mkdir()
    refuses(overlaid, "push", "revert")


@pytest.mark.parametrize("kind", ["content", "link", "missing", "fifo"])
def test_an_original_that_is_not_what_was_kept(overlaid: LocalScenario, kind: str) -> None:
    """Nothing of the new tree goes before all of the old one is there."""
    kept = record_of(overlaid).parent / "originals/sample_pkg/engine.py"
    whole = kept.read_bytes()
    kept.unlink()
    outside = overlaid.cli.directory / "outside.py"
    outside.write_bytes(whole)
    if kind == "content":
        kept.write_text("FORGED = 1\n")
    elif kind == "link":
        kept.symlink_to(outside)
    elif kind == "fifo":
        os.mkfifo(kept)
    before = overlaid.files()
    answer = overlaid.ask("revert")
    assert (answer["outcome"], answer["exit_code"]) in [("failed", 8), ("refused", 5)]
    assert "sample_pkg/engine.py" in answer["problems"][0]["message"]
    assert overlaid.files() == before
    assert codes(overlaid.ask("verify")) == ["overlay-damaged"]
    kept.unlink(missing_ok=True)
    kept.write_bytes(whole)
    assert overlaid.ask("revert")["outcome"] == "applied"
    assert overlaid.answer() == "generation 1: 1.0"


def test_a_record_never_names_where_this_host_goes(overlaid: LocalScenario, tmp_path: Path) -> None:
    """A container's record that names an environment of this machine: the hook would start its Python."""
    ran, place = tmp_path / "ran", record_of(overlaid)
    program = tmp_path / "planted/bin/python3"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    record = json.loads(place.read_text())
    record["target"] |= {"kind": "local", "name": str(tmp_path / "planted")}
    record["id"] = "29991231T000000.000Z-ffffff"
    place.write_text(json.dumps(record))
    overlaid.ask("status")
    head = overlaid.project.head
    line = ("-C", overlaid.project.path, "hook", "pre-push", "--json")
    answer = check_answer(overlaid.cli(*line, input=f"refs/heads/main {head} refs/heads/main {'0' * 40}\n"))
    assert not ran.exists()
    assert answer["details"]["notes"] == []  # its own target was asked, and told of another record
    assert "overlay-gone" in codes(answer)


def test_text_of_a_record_never_reaches_the_terminal_raw(overlaid: LocalScenario) -> None:
    """``ask`` and the others check each answer for control characters."""
    place = record_of(overlaid)
    record = json.loads(place.read_text())
    evil = "\x1b[2J\x9b31m\x07\u202e\x7f\r\n"
    record |= {"tool": evil, "time": evil, "command": evil, "hooks": [evil], "unknown": evil}
    record["target"] |= {"image_name": evil, "engine": evil}
    record["interpreter"]["version"] = evil
    record["repository"] |= {"branch": evil, "remote": evil}
    place.write_text(json.dumps(record))
    for command in COMMANDS:
        overlaid(command)
        overlaid.ask(command)
        place.write_text(json.dumps(record)) if command != "revert" else None
    overlaid.cli("-C", overlaid.project.path, "manifest", "list", "--all")
