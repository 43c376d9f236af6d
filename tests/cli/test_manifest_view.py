"""What a person reads of a record."""

from __future__ import annotations

import time

import pytest
from msgspec import structs

from overlaysync.cli.manifest_view import local_time, show
from overlaysync.cli.terminal import Terminal
from overlaysync.model.manifest import Manifest, WorkloadRecord
from overlaysync.model.plan import Placement
from overlaysync.model.target import Resolution
from overlaysync.model.worktree import ObjectId, Ported
from tests.state.samples import COMMIT, MANIFEST, PLACEMENT


def shown(manifest: Manifest, capsys: pytest.CaptureFixture[str]) -> list[str]:
    show(manifest, "/records/one.json", Terminal())
    return capsys.readouterr().out.splitlines()


def test_all_that_a_record_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(MANIFEST, capsys) == [
        "record    20261129T161500.250Z-3f9c2a · push · 0.1.0",
        f"when      {local_time(MANIFEST.time)}",
        "from      /home/dev/sample",
        f"branch    main · HEAD {COMMIT}",
        "remote    https://example.org/sample",
        "into      docker:my-dev (cccccccccccc)",
        "package   sample 1.0 · /opt/venv/bin/python 3.11.7",
        "in        /opt/venv/lib",
        f"baseline  HEAD {COMMIT} · image commit {COMMIT}",
        "content   1 of 2 installed files equal, 1 overlaid",
        f"evidence  label org.opencontainers.image.revision: {COMMIT}",
        "evidence  env COMMIT: nothing there",
        "",
        "  replace  python  src/sample/caf\\udce9.py → sample/caf\\udce9.py  edited",
        "",
        "overlay after it:",
        "  sha256 bbbbbbbbbbbb  sample/caf\\udce9.py",
        "",
        "imported:",
        "  sample.café  /opt/venv/lib/sample/café.py",
        "",
        "acknowledged:",
        "  binding  src/sample/ops.py",
        "",
        "left out:",
        "  unproven-shipping  src/sample/data.txt: not proven",
        "",
        "not packaged:",
        "  docs/conf.py",
        "",
        "ignored by workload-ignore:",
        "  jupyter-lab",
        "",
        "read back 1 of 1 path as planned",
        "workload  3 processes looked at",
        "took      0.01 s",
        "before it 20261129T161400.000Z-000000",
        "file      /records/one.json (all of it: --json)",
    ]


def test_the_worktree_of_a_port_is_where_people_edit(capsys: pytest.CaptureFixture[str]) -> None:
    ported = Ported("/home/dev/mine", "faster", ObjectId("3" * 40), ObjectId("4" * 40), COMMIT, COMMIT)
    repository = structs.replace(MANIFEST.repository, ported=ported, machine="workstation")
    lines = shown(structs.replace(MANIFEST, repository=repository), capsys)
    assert lines[2:5:2] == ["from      /home/dev/mine on workstation", "remote    https://example.org/sample"]
    assert lines[3] == f"branch    faster · HEAD {'3' * 40}"
    assert (
        lines[5]
        == "carried   state 444444444444 onto 111111111111, from 111111111111 on, in /home/dev/sample"
    )


def test_what_a_record_does_not_hold_is_not_claimed(capsys: pytest.CaptureFixture[str]) -> None:
    empty = structs.replace(
        MANIFEST, operations=(), overlay=(PLACEMENT,), files=(), imports=(), timings_ms={}, previous=None
    )
    lines = shown(empty, capsys)
    assert "  no file was changed" in lines
    assert "read back 0 of 1 path as planned" in lines
    assert "took      unknown" in lines
    assert "before it no record" in lines
    assert "imported:" not in lines


def test_what_would_run_other_code_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    imports = (
        Resolution("sample.a", "/lib/a.py", runs_source=False),
        Resolution("sample.b", error="it is damaged"),
        Resolution("sample.c"),
    )
    lines = shown(structs.replace(MANIFEST, imports=imports), capsys)
    assert "  sample.a  /lib/a.py (runs other code than the source's)" in lines
    assert "  sample.b  it is damaged" in lines
    assert "  sample.c  not found" in lines


def test_many_files_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    overlay: tuple[Placement, ...] = (PLACEMENT,) * 15
    many = structs.replace(
        MANIFEST, overlay=overlay, operations=MANIFEST.operations * 50, workload=WorkloadRecord(1)
    )
    lines = shown(many, capsys)
    assert "  … and 3 more (all of them: --json)" in lines
    assert "  … and 2 more (all of them: --json)" in lines
    assert "workload  1 process looked at" in lines


@pytest.mark.parametrize("text", ["yesterday", ""])
def test_a_time_that_is_none_is_shown_as_it_is(text: str) -> None:
    assert local_time(text) == text


def test_a_time_is_the_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert local_time("2026-11-29T16:15:00.250Z") == "2026-11-30 01:15:00 +0900"
        assert local_time("2026-11-29T16:15:00") == "2026-11-30 01:15:00 +0900"
    finally:
        monkeypatch.undo()
        time.tzset()
