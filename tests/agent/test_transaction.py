"""One plan, carried out and taken back: bytes, modes, owners and times, bytecode too."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from overlaysync.errors import ApplyError
from overlaysync.remote.session import AgentSession
from tests.agent.conftest import Start
from tests.agent.vocabulary import LONG_AGO, Edit, Site

EDITED = "GENERATION = 2\n"


def edits_of_every_kind(site: Site) -> list[Edit]:
    return [
        site.replace("sample/engine.py", EDITED),
        site.add("sample/fresh/deep/new.py", "NEW = 1\n"),
        site.remove("sample/lonely/only.py"),
        site.replace("sample/data.json", '{"heads": 8}\n'),
    ]


def test_push_and_revert_under_every_python(every_python: Path, start: Start, site: Site) -> None:
    compiled = site.compile(every_python)
    assert any("engine" in path for path in compiled)
    before = site.snapshot(times=True)
    session = start(every_python)
    inventory = site.open(session)
    assert (inventory.manifest, inventory.recovered) == (None, None)

    dropped = site.push(session, edits_of_every_kind(site))
    assert sorted(dropped) == ["sample/engine.py", "sample/lonely/only.py"]
    assert (site.root / "sample/engine.py").read_text() == EDITED
    assert (site.root / "sample/engine.py").stat().st_mtime > LONG_AGO
    assert (site.root / "sample/fresh/deep/new.py").read_text() == "NEW = 1\n"
    assert not (site.root / "sample/lonely").exists()
    assert not list((site.root / "sample").rglob("engine.*.pyc"))

    site.push_revert(session)
    assert site.snapshot(times=True) == before


def test_a_second_push_onto_the_first_keeps_the_first_original(session: AgentSession, site: Site) -> None:
    before = site.snapshot(times=True)
    site.open(session)
    site.push(session, [site.replace("sample/engine.py", EDITED)], "first")
    inventory = site.open(session)
    assert inventory.manifest == '{"id": "first"}'
    site.push(session, [site.replace("sample/engine.py", "GENERATION = 3\n")], "second")
    assert (site.root / "sample/engine.py").read_text() == "GENERATION = 3\n"
    site.push_revert(session)
    assert site.snapshot(times=True) == before


def test_a_push_may_put_an_original_back(session: AgentSession, site: Site, python: Path) -> None:
    site.compile(python)
    before = site.snapshot(times=True)
    site.open(session)
    site.push(session, [site.replace("sample/engine.py", EDITED), site.remove("sample/lonely/only.py")])
    site.push(session, [site.restore("sample/engine.py"), site.restore("sample/lonely/only.py")], "second")
    after = site.snapshot(times=True)
    assert {path: after[path] for path in before} == before
    assert set(after) - set(before) == {
        ".overlaysync",
        ".overlaysync/sample",
        ".overlaysync/sample/manifest.json",
    }


def test_owner_and_mode_are_those_of_the_original(session: AgentSession, site: Site) -> None:
    if os.geteuid() != 0:
        pytest.skip("giving files to another user needs root")
    engine = site.root / "sample/engine.py"
    engine.chmod(0o640)
    os.chown(engine, 1234, 4321)
    os.chown(site.root / "sample/lonely", 1234, 4321)
    (site.root / "sample/lonely").chmod(0o2750)
    before = site.snapshot(times=True)
    site.open(session)
    site.push(
        session,
        [
            site.replace("sample/engine.py", EDITED),
            site.add("sample/lonely/more/new.py", "NEW = 1\n"),
            site.remove("sample/lonely/only.py"),
        ],
    )
    after = site.snapshot()
    assert after["sample/engine.py"][:3] == before["sample/engine.py"][:3]
    assert after["sample/lonely/more"][:3] == before["sample/lonely"][:3]
    assert after["sample/lonely/more/new.py"][:3] == (0o100644, 1234, 4321)
    site.push_revert(session)
    assert site.snapshot(times=True) == before


def test_a_directory_comes_back_with_its_owner_and_mode(session: AgentSession, site: Site) -> None:
    (site.root / "sample/lonely").chmod(0o750)
    if os.geteuid() == 0:
        os.chown(site.root / "sample/lonely", 1234, 4321)
    before = site.snapshot(times=True)
    site.open(session)
    site.push(session, [site.remove("sample/lonely/only.py")])
    assert not (site.root / "sample/lonely").exists()
    site.push_revert(session)
    assert site.snapshot(times=True) == before


def test_new_files_are_executable_where_the_plan_says_so(session: AgentSession, site: Site) -> None:
    edits = [site.add("sample/run.py", "#!/usr/bin/python3\n"), site.add("sample/plain.py", "\n")]
    site.open(session)
    session.begin("first", [edit.operation for edit in edits], [edits[0].operation.destination])
    for number, edit in enumerate(edits):
        session.stage(number, [edit.content or b""])
    session.apply([])
    session.write_record('{"id": "first"}')
    session.record()
    modes = [(site.root / path).stat().st_mode & 0o777 for path in ("sample/run.py", "sample/plain.py")]
    assert modes == [0o755, 0o644]


def test_an_applied_transaction_can_be_rolled_back(session: AgentSession, site: Site, python: Path) -> None:
    site.compile(python)
    before = site.snapshot(times=True)
    site.open(session)
    site.apply(session, edits_of_every_kind(site))
    assert (site.root / "sample/engine.py").read_text() == EDITED
    session.roll_back()
    assert site.snapshot(times=True) == before


def test_bytecode_of_the_new_content_does_not_survive_a_roll_back(
    session: AgentSession, site: Site, python: Path
) -> None:
    before = site.snapshot(times=True)
    site.open(session)
    site.apply(session, edits_of_every_kind(site))
    assert any("new." in path for path in site.compile(python))
    session.roll_back()
    caches = {path for path in site.snapshot() if path.split("/")[-1] == "__pycache__"}
    kept = {path for path in site.snapshot() if not path.startswith(tuple(caches))}
    assert kept == set(before)
    assert not [path for path in site.snapshot() if "engine." in path and path.endswith(".pyc")]


def test_bytecode_of_the_overlay_does_not_survive_a_revert(
    session: AgentSession, site: Site, python: Path
) -> None:
    site.open(session)
    site.push(session, [site.replace("sample/engine.py", EDITED), site.add("sample/new.py", "NEW = 1\n")])
    assert [path for path in site.compile(python) if "new." in path]
    site.push_revert(session)
    left = [path.name for path in site.root.rglob("*.pyc")]
    assert not [name for name in left if name.startswith(("engine.", "new."))]
    assert [name for name in left if name.startswith("helper.")]


def test_the_other_name_of_a_hard_linked_original_keeps_the_old_content(
    session: AgentSession, site: Site
) -> None:
    other = site.root / "cache.py"
    os.link(site.root / "sample/engine.py", other)
    before = site.snapshot(times=True)
    site.open(session)
    site.push(session, [site.replace("sample/engine.py", EDITED)])
    assert other.read_text() == "GENERATION = 1\n"
    site.push_revert(session)
    assert site.snapshot(times=True) == before
    assert other.samefile(site.root / "sample/engine.py")


def test_large_and_empty_content(session: AgentSession, site: Site) -> None:
    large = "# " + "x" * 3_000_000 + "\n"
    site.open(session)
    site.push(session, [site.replace("sample/engine.py", large), site.add("sample/empty.py", "")])
    assert (site.root / "sample/engine.py").read_text() == large
    assert (site.root / "sample/empty.py").read_text() == ""


def test_names_with_spaces_newlines_and_other_bytes(start: Start, every_python: Path, site: Site) -> None:
    names = ["sample/sp ace.py", "sample/new\nline.py", "sample/café.py", os.fsdecode(b"sample/\xff\xfe.py")]
    session = start(every_python)
    site.open(session)
    site.push(session, [site.add(name, f"NAME = {number}\n") for number, name in enumerate(names)])
    files = session.look(sorted(edit.operation.destination for edit in site.revert()), object_format="sha1")
    assert sorted(files) == sorted(names)
    assert {file.kind.value for file in files.values()} == {"file"}
    for number, name in enumerate(names):
        assert (site.root / name).read_text() == f"NAME = {number}\n"
    site.push_revert(session)
    assert not (site.root / ".overlaysync").exists()


def test_content_that_is_not_what_was_announced(session: AgentSession, site: Site) -> None:
    before = site.snapshot(times=True)
    edit = site.replace("sample/engine.py", EDITED)
    site.open(session)
    session.begin("first", [edit.operation], ())
    session.stage(0, [b"something else\n"])
    with pytest.raises(ApplyError, match="not what was announced"):
        session.apply([])
    session.roll_back()
    assert site.snapshot(times=True) == before


def test_content_that_never_came(session: AgentSession, site: Site) -> None:
    before = site.snapshot(times=True)
    edits = [site.replace("sample/engine.py", EDITED), site.add("sample/new.py", "NEW = 1\n")]
    site.open(session)
    session.begin("first", [edit.operation for edit in edits], ())
    session.stage(0, [EDITED.encode()])
    with pytest.raises(ApplyError, match=r"sample/new\.py: its new content did not arrive"):
        session.apply([])
    session.roll_back()
    assert site.snapshot(times=True) == before


@pytest.mark.parametrize("change", ["edited", "removed", "appeared"])
def test_a_file_that_changed_since_the_plan(session: AgentSession, site: Site, change: str) -> None:
    edits = [site.replace("sample/helper.py", "\n"), site.replace("sample/engine.py", EDITED)]
    if change == "appeared":
        edits.append(site.add("sample/new.py", "NEW = 1\n"))
        site.write("sample/new.py", "SOMEBODY = 'else'\n")
    elif change == "edited":
        site.write("sample/engine.py", "SOMEBODY = 'else'\n")
    else:
        (site.root / "sample/engine.py").unlink()
    before = site.snapshot(times=True)
    site.open(session)
    with pytest.raises(ApplyError, match="changed in the target since the plan was made"):
        site.apply(session, edits)
    session.roll_back()
    assert site.snapshot(times=True) == before


def test_a_damaged_original_is_never_put_back(session: AgentSession, site: Site) -> None:
    site.open(session)
    site.push(session, [site.replace("sample/engine.py", EDITED)])
    edits = site.revert()
    (site.root / ".overlaysync/sample/originals/sample/engine.py").write_text("damaged\n")
    with pytest.raises(ApplyError, match="the kept original is damaged"):
        site.apply(session, edits, "revert")
    session.roll_back()
    assert (site.root / "sample/engine.py").read_text() == EDITED


def test_what_is_open_in_a_process_keeps_its_old_content(session: AgentSession, site: Site) -> None:
    with (site.root / "sample/engine.py").open() as reading:
        site.open(session)
        site.push(session, [site.replace("sample/engine.py", EDITED)])
        assert reading.read() == "GENERATION = 1\n"


def test_all_tags_levels_and_places_of_bytecode_are_dropped_and_come_back(
    start: Start, every_python: Path, site: Site
) -> None:
    for options in ([], ["-o", "1"], ["-o", "2"], ["-b"], ["--invalidation-mode", "unchecked-hash", "-f"]):
        if options[:1] != ["-o"] or every_python.name != "python3.8":  # compileall learned -o in 3.9
            site.compile(every_python, *options)
    found = [path for path in site.snapshot() if "engine" in path and path.endswith(".pyc")]
    assert "sample/engine.pyc" in found
    assert len(found) >= 2
    before = site.snapshot(times=True)
    session = start(every_python)
    site.open(session)
    dropped = site.push(session, [site.replace("sample/engine.py", EDITED)])
    assert sorted(dropped["sample/engine.py"]) == sorted(found)
    site.push_revert(session)
    assert site.snapshot(times=True) == before


def test_how_bytecode_was_validated_is_told(session: AgentSession, site: Site, python: Path) -> None:
    """E03; what is no bytecode of ours to read is unknown, and dropped all the same."""
    modes = ("timestamp", "checked-hash", "unchecked-hash")
    cache = "sample/__pycache__"
    expected = {}
    for mode in modes:
        site.compile(python, "--invalidation-mode", mode, "-f")
        [made] = (site.root / cache).glob("engine.*-3*.pyc")
        expected[f"{cache}/engine.{mode}.pyc"] = mode
        made.rename(site.root / cache / f"engine.{mode}.pyc")
    old = {
        "empty": b"",
        "short": b"\x00\x00\r\n\1",
        "python2": b"\x03\xf3\r\n\1\0\0\0",
        "flags": b"\xa7\r\r\n\4\0\0\0",
    }
    for name, content in old.items():
        site.write(f"{cache}/engine.{name}.pyc", content)
        expected[f"{cache}/engine.{name}.pyc"] = "unknown"
    (site.root / cache / "engine.link.pyc").symlink_to("/dev/null")
    expected[f"{cache}/engine.link.pyc"] = "unknown"
    site.open(session)
    dropped = site.push(session, [site.replace("sample/engine.py", EDITED)])
    assert dropped == {"sample/engine.py": expected}


def test_an_edit_of_the_same_size_and_second_is_seen(session: AgentSession, site: Site, python: Path) -> None:
    """E01; and E03, where the bytecode is trusted for ever."""
    for options in ([], ["--invalidation-mode", "unchecked-hash", "-f"]):
        edited = EDITED if not options else "GENERATION = 3\n"
        assert site.compile(python, *options)
        site.open(session)
        site.push(session, [site.replace("sample/engine.py", edited)], f"push{len(options)}")
        os.utime(site.root / "sample/engine.py", (LONG_AGO, LONG_AGO))
        assert f"GENERATION = {imported(python, site)}\n" == edited


def imported(python: Path, site: Site) -> str:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import sample.engine as e; print(e.GENERATION)"
    command = [str(python), "-I", "-B", "-c", code, str(site.root)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


def test_bytecode_below_a_prefix_is_dropped_however_the_root_is_spelled(
    session: AgentSession, site: Site, python: Path, tmp_path: Path
) -> None:
    """E04: with PYTHONPYCACHEPREFIX nothing beside the source shows the cache."""
    spelled = tmp_path / "spelled"
    spelled.symlink_to(site.root)
    prefix = tmp_path / "cache"
    for place in (site.root, spelled):
        command = [str(python), "-m", "compileall", "-q", str(place / "sample")]
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(prefix)}
        subprocess.run(command, check=True, env=environment, timeout=60)
    assert not list(site.root.rglob("*.pyc"))
    compiled = set(prefix.rglob("engine.*.pyc"))
    assert len(compiled) == 2
    site.open(session)
    edit = site.replace("sample/engine.py", EDITED)
    session.begin("first", [edit.operation], ())
    session.stage(0, [EDITED.encode()])
    dropped = session.apply([str(prefix)], [str(spelled), "/nowhere"]).dropped
    assert {Path(path) for path in dropped["sample/engine.py"]} == compiled
    assert not list(prefix.rglob("engine.*.pyc"))
    assert list(prefix.rglob("helper.*.pyc"))


def test_a_prefix_that_is_a_trap_removes_nothing_elsewhere(
    session: AgentSession, site: Site, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "engine.cpython-38.pyc").write_bytes(b"")
    trap = tmp_path / "cache" / str(site.root).lstrip("/")
    trap.mkdir(parents=True)
    (trap / "sample").symlink_to(elsewhere)
    site.open(session)
    edit = site.replace("sample/engine.py", EDITED)
    session.begin("first", [edit.operation], ())
    session.stage(0, [EDITED.encode()])
    assert session.apply([str(tmp_path / "cache")]).dropped == {}
    assert (elsewhere / "engine.cpython-38.pyc").exists()


def test_each_transaction_leaves_its_time(session: AgentSession, site: Site) -> None:
    """A record, a roll-back, a revert; where nothing of ours is left, the root tells."""

    def changed_at() -> float:
        released, told = session.release(), session.peek(str(site.root), "sample")
        inventory = site.open(session)
        assert released in (told, None)
        assert inventory.changed_at == told == session.peek(str(site.root), "sample")  # also under the lock
        return told

    def roll_back(path: str) -> None:
        site.apply(session, [site.add(path, "NEW = 1\n")], "second")
        session.roll_back()

    site.open(session)
    times = [changed_at()]
    assert changed_at() == times[0]  # looking is no change
    for transaction in (
        lambda: roll_back("sample/new.py"),
        lambda: site.push(session, [site.replace("sample/engine.py", EDITED)]),
        lambda: roll_back("sample/other.py"),
        lambda: site.push_revert(session),
    ):
        time.sleep(0.02)  # the kernel's clock of files ticks
        began = time.time() - 0.01
        transaction()
        times.append(changed_at())
        assert began < times[-1] <= time.time()
    assert times == sorted(set(times))
