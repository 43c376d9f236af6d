"""Where a running Python looks first, by its command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from overlaysync.agent.started import first_on_path

WORK = b"/work"


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("python", WORK),
        ("python -", WORK),
        ("python -c pass serve.py", WORK),
        ("python -um serve", WORK),
        ("python serve.py --port 1", WORK),
        ("python -uB -W error -X utf8 /srv/app/serve.py -P", b"/srv/app"),
        ("python -Werror -Xutf8 ../srv/serve.py", b"/srv"),
        ("python --check-hash-based-pycs always /srv/serve.py", b"/srv"),
        ("python -I /srv/serve.py", None),
        ("python -uP -m serve", None),
        ("python -IS -c pass", None),
    ],
)
def test_the_first_entry(line: str, place: bytes | None) -> None:
    assert first_on_path(line.encode().split(), False, WORK) == place


def test_what_switches_it_off_or_hides_it() -> None:
    assert first_on_path([b"python", b"/srv/serve.py"], True, WORK) is None
    assert first_on_path([b"python", b"/srv/serve.py"], False, None) is None


def test_links_and_directories(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "serve.py").write_text("")
    (tmp_path / "link.py").symlink_to("app/serve.py")
    for name in ("link.py", "app/serve.py", "app"):
        found = first_on_path([b"python", bytes(tmp_path / name)], False, WORK)
        assert found == bytes(tmp_path / "app")
